//! Random requests that schemathesis generates from the OpenAPI document, valid and invalid: each response is as documented,
//! without a server error, and a read-only role changes nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use evenair_api::Request;
use tokio::task::spawn_blocking;

use crate::api::Api;
use crate::audit;

/// Installed by `scripts/api-tools`.
const PROGRAM: &str = "target/api-tools/venv/bin/schemathesis";
/// Checks of each response. Acceptance of all documented input is not checked: no document knows which stations exist.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,negative_data_rejection,unsupported_method,ignored_auth";

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PROGRAM)
}

/// Sends `cases` requests per operation with a token; `reads`: including read operations, which all roles may use.
async fn ask(api: &Api, token: &str, cases: u32, reads: bool) {
    // Boundary values take a minute more.
    let phases = if cases < 100 { "fuzzing" } else { "examples,coverage,fuzzing" };
    let mut command = Command::new(program());
    let address = api.site.address;
    command.args(["run", &format!("http://{address}/api/v1/openapi.json"), "--url", &format!("http://{address}")]);
    // Its response never ends.
    command.args(["--exclude-path-regex", "/live$", "--phases", phases, "--checks", CHECKS]);
    command.args(["--header", &format!("Authorization: Bearer {token}"), "--max-examples", &cases.to_string()]);
    command.args(["--workers", "2", "--seed", "1", "--request-timeout", "20", "--no-color"]);
    if !reads {
        command.args(["--exclude-method", "GET"]);
    }
    command.current_dir(api.site.folder.path()).env("HYPOTHESIS_STORAGE_DIRECTORY", api.site.folder.path());
    let output = spawn_blocking(move || command.output()).await.expect("it is awaited").expect("it is started");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn random_requests(cases: u32) {
    if !program().exists() {
        return println!("skipped: {PROGRAM} is not there; run scripts/api-tools");
    }
    let api = Api::start().await;
    let before = audit::entries(&api.site).len();
    ask(&api, &api.view, cases, false).await;
    let reads = |request: &Request| matches!(request, Request::Status | Request::Names);
    assert!(api.asked.lock().expect("unbroken").iter().all(|(_, request)| reads(request)), "view changes nothing");
    assert!(
        audit::entries(&api.site).iter().skip(before).all(|entry| entry.result != "done"),
        "nor anything of the page"
    );
    ask(&api, &api.operate, cases, false).await;
    let admins = |request: &Request| matches!(request, Request::Shutdown { .. } | Request::Reconfigure { .. });
    assert!(!api.asked.lock().expect("unbroken").iter().any(|(_, request)| admins(request)), "operate is no admin");
    ask(&api, &api.admin, cases, true).await;
    assert!(
        api.asked.lock().expect("unbroken").iter().any(|(_, request)| !reads(request)),
        "an admin changes something"
    );
}

#[tokio::test]
async fn random_requests_get_documented_responses() {
    random_requests(30).await;
}

#[ignore = "takes half an hour"]
#[tokio::test]
async fn a_thousand_random_requests_of_each_operation_get_documented_responses() {
    random_requests(1000).await;
}
