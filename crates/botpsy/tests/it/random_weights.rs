//! The embedded file with random weights: nothing but the weights finds a call.

use serde_json::json;

use crate::random_model::with_random_weights;
use crate::support::{run, scratch_file, str};

#[test]
fn random_weights_find_no_call() {
    for seed in [1, 2, 3] {
        let file = scratch_file("random.gguf", with_random_weights(seed));
        for sentence in ["set an alarm for 7 am tomorrow", "text john i'm running late"] {
            let answer = run(&["ask", "--tools", crate::ask::TOOLS, "-m", str(&file), "--json", sentence], "").json();
            assert_eq!(answer["tool_calls"], json!([]), "{seed}: {sentence}");
        }
    }
}
