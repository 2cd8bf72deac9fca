//! Compiling a template, and weaving the checks of [`super::bounds`] into its instructions.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::machinery::{
    CompiledTemplate, Instruction, Instructions, TemplateConfig, Token, eval, make_string_output, tokenize,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value};

use super::bounds::{CHECK_ATTRIBUTE, CHECK_BUILT, measure};

const NAME: &str = "chat_template";

/// A compiled template; it borrows the source.
pub(super) struct Program<'a>(Instructions<'a>);

impl<'a> Program<'a> {
    pub(super) fn compile(source: &'a str, environment: &Environment<'_>) -> Result<Program<'a>, Error> {
        check_lengths(source, environment.syntax())?;
        let config = TemplateConfig {
            syntax_config: environment.syntax().clone(),
            default_auto_escape: Arc::new(|_| AutoEscape::None),
        };
        let compiled = CompiledTemplate::new(NAME, source, &config)?;
        Ok(Program(with_checks(&compiled.instructions, source)?))
    }

    pub(super) fn run(&'a self, environment: &'a Environment<'a>, variables: Value) -> Result<String, Error> {
        let mut text = String::new();
        let mut output = make_string_output(&mut text);
        eval(environment, &self.0, variables, &BTreeMap::new(), &mut output, AutoEscape::None)?;
        Ok(text)
    }
}

/// Most tokens between the delimiters of one expression or statement: the time to compile it grows with the square of
/// them, and the native stack with each.
const MAX_TOKENS: usize = 1_000;

fn check_lengths(source: &str, syntax: &SyntaxConfig) -> Result<(), Error> {
    let mut n_tokens = 0;
    for token in tokenize(source, false, syntax.clone()) {
        match token?.0 {
            Token::VariableStart | Token::BlockStart => n_tokens = 0,
            _ => n_tokens += 1,
        }
        if n_tokens > MAX_TOKENS {
            return Err(Error::new(ErrorKind::SyntaxError, format!("an expression of more than {MAX_TOKENS} tokens")));
        }
    }
    Ok(())
}

/// Where the check of an instruction goes.
enum Check {
    Before(&'static str),
    After(&'static str),
    None,
}

fn with_checks<'a>(plain: &Instructions<'a>, source: &'a str) -> Result<Instructions<'a>, Error> {
    let mut checked = Instructions::new(NAME, source);
    // Where each instruction, or the check before it, went.
    let mut places = Vec::new();
    for index in 0.. {
        let Some(instruction) = plain.get(index) else { break };
        let line = plain.get_line(index).and_then(|line| u16::try_from(line).ok()).unwrap_or(u16::MAX);
        let call = |check: &'static str| Instruction::CallFunction(check, Some(1));
        places.push(match check(instruction, plain.get(index + 1))? {
            Check::Before(name) => {
                let place = checked.add_with_line(call(name), line);
                checked.add_with_line(instruction.clone(), line);
                place
            }
            Check::After(name) => {
                let place = checked.add_with_line(instruction.clone(), line);
                checked.add_with_line(call(name), line);
                place
            }
            Check::None => checked.add_with_line(instruction.clone(), line),
        });
    }
    // A jump may lead right behind the last instruction.
    places.push(places.last().map_or(0, |last| last + 1));
    for index in 0.. {
        let Some(instruction) = checked.get_mut(index) else { break };
        if let Instruction::Iterate(target)
        | Instruction::Jump(target)
        | Instruction::JumpIfFalse(target)
        | Instruction::JumpIfFalseOrPop(target)
        | Instruction::JumpIfTrueOrPop(target)
        | Instruction::BuildMacro(_, target, _) = instruction
        {
            *target = places[*target as usize];
        }
    }
    Ok(checked)
}

fn check(instruction: &Instruction<'_>, next: Option<&Instruction<'_>>) -> Result<Check, Error> {
    Ok(match (instruction, next) {
        (Instruction::LoadConst(value), _) => {
            measure(value)?;
            Check::None
        }
        (
            Instruction::BuildList(_)
            | Instruction::BuildTuple(_)
            | Instruction::BuildMap(_)
            | Instruction::Add
            | Instruction::Mul
            | Instruction::ApplyFilter("map", ..)
            // `dict` and `namespace`, under whatever name.
            | Instruction::CallFunction(..)
            | Instruction::CallMethod(..)
            | Instruction::CallObject(_),
            _,
        ) => Check::After(CHECK_BUILT),
        // `set ns.x = value` loads the namespace on top of the value.
        (Instruction::Lookup(_), Some(Instruction::SetAttr(_))) => Check::Before(CHECK_ATTRIBUTE),
        (_, Some(Instruction::SetAttr(_))) => {
            return Err(Error::new(ErrorKind::SyntaxError, "only a named namespace can be assigned to"));
        }
        _ => Check::None,
    })
}
