//! From plain lists to tables.

use super::Tokenizer;
use super::alphabet;
use super::bpe::Bpe;
use super::error::{TokenizerError, shorten};
use super::pairs::{PairTable, TokenMap};
use super::spec::{MergeList, TokenizerSpec};
use super::vocabulary::Vocabulary;

/// Longest token without a merge list: all its cuts are tried.
const MAX_RANKED_BYTES: usize = 4096;

/// Each pair with its rank, and the token that the merge of each rank makes.
type Merges = (PairTable, Vec<u32>);

pub(super) fn build(spec: TokenizerSpec) -> Result<Tokenizer, TokenizerError> {
    let TokenizerSpec { tokens, kinds, merges, splitter } = spec;
    let vocabulary = Vocabulary::new(&tokens, kinds)?;
    let map = vocabulary.map_plain()?;
    let added = vocabulary.added(&tokens, &map)?;
    let byte_ids = byte_ids(&vocabulary, &map)?;
    let (pairs, results) = match &merges {
        MergeList::Pairs(list) => {
            let parts = list.iter().map(|(left, right)| Ok((left.as_str(), right.as_str())));
            listed(parts, &vocabulary, &map)?
        }
        MergeList::Lines(list) => listed(list.iter().enumerate().map(split_line), &vocabulary, &map)?,
        MergeList::RanksOnly => ranked(&vocabulary, &map)?,
    };
    Ok(Tokenizer {
        splitter,
        bpe: Bpe::new(byte_ids, pairs, results),
        added,
        whole_words: matches!(merges, MergeList::RanksOnly).then_some(map),
        vocabulary,
    })
}

fn byte_ids(vocabulary: &Vocabulary, map: &TokenMap) -> Result<[u32; 256], TokenizerError> {
    let mut ids = [0; 256];
    for (byte, id) in (0..=255u8).zip(&mut ids) {
        *id = vocabulary.find(map, &[byte]).ok_or(TokenizerError::MissingByte(byte))?;
    }
    Ok(ids)
}

fn split_line((index, line): (usize, &String)) -> Result<(&str, &str), TokenizerError> {
    let without_space = || TokenizerError::MergeWithoutSpace { index, text: shorten(line) };
    line.split_once(' ').ok_or_else(without_space)
}

/// Merges as a file lists them.
fn listed<'a>(
    parts: impl ExactSizeIterator<Item = Result<(&'a str, &'a str), TokenizerError>>,
    vocabulary: &Vocabulary,
    map: &TokenMap,
) -> Result<Merges, TokenizerError> {
    // The last rank stands for "none" in the tables.
    if u32::try_from(parts.len()).is_err() {
        return Err(TokenizerError::TooLarge);
    }
    let mut pairs = PairTable::with_capacity(parts.len());
    let mut results: Vec<u32> = Vec::with_capacity(parts.len());
    let mut joined = Vec::new();
    for (index, part) in parts.enumerate() {
        let (left, right) = part?;
        joined.clear();
        let mut id_of_next = |part: &str| {
            let start = joined.len();
            let known = alphabet::push_bytes(part, &mut joined);
            let id = if known { vocabulary.find(map, &joined[start..]) } else { None };
            id.ok_or_else(|| TokenizerError::MergePart { index, part: shorten(part) })
        };
        let (left_id, right_id) = (id_of_next(left)?, id_of_next(right)?);
        // Vocabularies are mostly listed in the order of their merges: the next token is compared before all are looked through.
        let next = results.last().map_or(0, |last| last + 1);
        let result = match vocabulary.is_plain(next, &joined) {
            true => next,
            false => vocabulary
                .find(map, &joined)
                .ok_or_else(|| TokenizerError::MergeResult { index, result: shorten(&format!("{left}{right}")) })?,
        };
        pairs
            .insert(left_id, right_id, index as u32)
            .map_err(|first| TokenizerError::DuplicateMerge { index, first: first as usize })?;
        results.push(result);
    }
    Ok((pairs, results))
}

/// Every way to cut a token into two tokens is a merge, and its rank is the id.
fn ranked(vocabulary: &Vocabulary, map: &TokenMap) -> Result<Merges, TokenizerError> {
    let mut found = Vec::new();
    for id in vocabulary.plain_ids() {
        let bytes = vocabulary.bytes(id);
        if bytes.len() > MAX_RANKED_BYTES {
            return Err(TokenizerError::LongToken { index: id as usize, n_bytes: bytes.len(), max: MAX_RANKED_BYTES });
        }
        found.extend((1..bytes.len()).filter_map(|cut| {
            let (left, right) = bytes.split_at(cut);
            Some((vocabulary.find(map, left)?, vocabulary.find(map, right)?, id))
        }));
    }
    let mut pairs = PairTable::with_capacity(found.len());
    for (left, right, rank) in found {
        pairs.insert(left, right, rank).expect("no two tokens have the same bytes");
    }
    Ok((pairs, (0..vocabulary.len() as u32).collect()))
}
