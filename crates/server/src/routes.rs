//! From requests to answers.

use std::io::{self, SeekFrom};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use culprit_page::asset;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use crate::State;
use crate::access::Refusal;
use crate::range::Asked;

/// Where recordings are.
const RECORDINGS: &str = "/api/recordings/";

/// Of every answer: nothing is loaded from elsewhere, guessed, framed or kept.
const ALWAYS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// All that can be asked for.
pub(crate) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/assets/{*path}", get(file_of_page))
        .route("/api/recordings", get(list))
        .route("/api/recordings/{*name}", get(recording))
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(from_fn_with_state(Arc::clone(&state), guard))
        .with_state(state)
}

/// Lets nobody in but the user's own page, and shuts every answer off.
async fn guard(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    let mut answer = match admit(&state, &request) {
        Ok(Admitted::In) => next.run(request).await,
        Ok(Admitted::ByToken) => to_page(&state),
        Err(refusal) => (StatusCode::FORBIDDEN, refusal.text()).into_response(),
    };
    for (name, value) in ALWAYS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// How a request got in.
enum Admitted {
    In,
    ByToken,
}

fn admit(state: &State, request: &Request) -> Result<Admitted, Refusal> {
    let headers = request.headers();
    state.access.check_source(headers)?;
    let known = state.access.check_cookie(headers);
    let query = request.uri().query().unwrap_or_default();
    let token = query.split('&').find_map(|pair| pair.strip_prefix("t="));
    let opens = request.method() == Method::GET && request.uri().path() == "/";
    match token.filter(|_| opens) {
        // The address may be opened again where it was opened first.
        Some(_) if known.is_ok() => Ok(Admitted::ByToken),
        Some(token) => state.access.redeem(token).map(|()| Admitted::ByToken),
        None => known.map(|()| Admitted::In),
    }
}

/// The page without the token in its address, with the cookie.
fn to_page(state: &State) -> Response {
    let headers = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, state.access.cookie())];
    (StatusCode::SEE_OTHER, headers).into_response()
}

async fn page() -> Response {
    asset_response("index.html")
}

async fn file_of_page(request: Request) -> Response {
    asset_response(request.uri().path().trim_start_matches('/'))
}

fn asset_response(path: &str) -> Response {
    let Some(asset) = asset(path) else { return StatusCode::NOT_FOUND.into_response() };
    // Every browser that can run the page takes it compressed.
    let headers = [(header::CONTENT_TYPE, asset.media), (header::CONTENT_ENCODING, "gzip")];
    (headers, asset.gzip).into_response()
}

async fn list(Shared(state): Shared<Arc<State>>) -> Response {
    let list = state.library.list().map_err(io::Error::other);
    match list.and_then(|list| Ok(serde_json::to_string(&list)?)) {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => failed(&error),
    }
}

async fn recording(Shared(state): Shared<Arc<State>>, request: Request) -> Response {
    let name = request.uri().path().strip_prefix(RECORDINGS).unwrap_or_default();
    let Ok(name) = percent_decode_str(name).decode_utf8() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    bytes(&state, &name, request.headers()).await.unwrap_or_else(|error| failed(&error))
}

async fn bytes(state: &State, name: &str, headers: &HeaderMap) -> io::Result<Response> {
    let (file, length) = state.library.file(name)?;
    let range = headers.get(header::RANGE).map(HeaderValue::to_str);
    let (status, part) = match Asked::read(range.and_then(Result::ok), length) {
        Asked::All => (StatusCode::OK, 0..length),
        Asked::Part(part) => (StatusCode::PARTIAL_CONTENT, part),
        Asked::None => {
            let all = [(header::CONTENT_RANGE, format!("bytes */{length}"))];
            return Ok((StatusCode::RANGE_NOT_SATISFIABLE, all).into_response());
        }
    };
    let mut file = tokio::fs::File::from_std(file);
    file.seek(SeekFrom::Start(part.start)).await?;
    let size = part.end - part.start;
    let stream = ReaderStream::with_capacity(file.take(size), 1 << 18);
    let mut response = Body::from_stream(stream).into_response();
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, size.into());
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{length}", part.start, part.end - 1);
        headers.insert(header::CONTENT_RANGE, range.parse().map_err(io::Error::other)?);
    }
    Ok(response)
}

/// A file that is gone, or that the server may not read.
fn failed(error: &io::Error) -> Response {
    match error.kind() {
        io::ErrorKind::NotFound => StatusCode::NOT_FOUND.into_response(),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
