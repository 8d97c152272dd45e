//! A line that a client sends to the box, and one that a box answers.
#![no_main]

use evenair_api::{Request, Response};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    if let Ok(request) = serde_json::from_str::<Request>(line) {
        let again = serde_json::to_string(&request).expect("a request is JSON");
        assert_eq!(serde_json::from_str::<Request>(&again).expect("just written"), request);
    }
    if let Ok(response) = serde_json::from_str::<Response>(line) {
        serde_json::to_string(&response).expect("a response is JSON");
    }
});
