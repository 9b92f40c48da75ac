//! The rule on frames of every runtime, and where stacks point.

use culprit_model::{Frame, Module, ModuleId, Pid, Process, Recording, Stack, Text, Time};

use super::*;
use CodeOrigin::{Library, Own, Runtime};

/// A recording of processes with these executables, and one stack of frames `PATH!FUNCTION`, root first.
fn recording(programs: &[&str], frames: &[&str]) -> Recording {
    let mut recording = Recording::default();
    for exe in programs {
        let process = Process::new(Pid(1), "p", Time::START);
        recording.processes.push(Process { exe: Text::from(*exe), ..process });
    }
    for (at, frame) in frames.iter().enumerate() {
        let (path, function) = frame.split_once('!').expect("PATH!FUNCTION");
        recording.modules.push(Module {
            name: paths::base_name(path).into(),
            path: path.into(),
            build_id: None,
            symbols: true,
            lines: false,
        });
        recording.frames.push(Frame::new(Some(ModuleId::from_index(at)), function, None));
        let parent = at.checked_sub(1).map(StackId::from_index);
        recording.stacks.push(Stack { parent, frame: FrameId::from_index(at) });
    }
    recording
}

#[track_caller]
fn check(programs: &[&str], cases: &[(&str, CodeOrigin)]) {
    let frames: Vec<&str> = cases.iter().map(|(frame, _)| *frame).collect();
    let own = OwnCode::new(&recording(programs, &frames), &Patterns::default());
    for (at, (frame, expected)) in cases.iter().enumerate() {
        assert_eq!(own.origin(FrameId::from_index(at)), *expected, "{frame}");
    }
}

#[test]
fn a_program_and_its_folder_are_own_wherever_they_are() {
    check(
        &["/usr/bin/gzip", "/usr/lib/postgresql/15/bin/postgres", "/srv/shop/shop (deleted)"],
        &[
            ("/usr/bin/gzip!deflate_fast", Own),
            ("/usr/lib/postgresql/15/bin/postgres!ExecScan", Own),
            ("/srv/shop/shop!serve", Own),
            ("/srv/shop/libprices.so!quote", Own),
            ("/usr/lib/postgresql/15/lib/plpgsql.so!exec_stmt", Runtime),
            ("/usr/lib/x86_64-linux-gnu/libz.so.1!deflate", Runtime),
            ("/usr/local/lib/libsqlite3.so.0!sqlite3_step", Library),
            ("/lib/x86_64-linux-gnu/libc.so.6!read", Runtime),
            ("libc.so.6!read", Runtime),
            ("ld-linux-x86-64.so.2!_dl_start", Runtime),
            ("/lib/ld-musl-x86_64.so.1!memcpy", Runtime),
            ("ld-musl-aarch64.so.1!read", Runtime),
            ("[kernel]!do_nanosleep", Runtime),
            ("[overlay]!ovl_open", Runtime),
            ("[vdso]!clock_gettime", Runtime),
            ("/srv/shop/shop!__gthread_mutex_lock", Runtime),
            ("/srv/shop/shop!std::mutex::lock()", Library),
        ],
    );
}

#[test]
fn python_is_told_by_the_paths_of_its_scripts() {
    check(
        &["/usr/bin/python3.11"],
        &[
            ("/usr/bin/python3.11!_PyEval_EvalFrameDefault", Runtime),
            ("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0!pysleep", Runtime),
            ("/opt/python/lib/libpython3.13.so.1.0!pysleep", Runtime),
            ("/opt/python/bin/python3.13t!main", Runtime),
            ("/app/app.py!load_config", Own),
            ("/app/orders/db.py!Orders.parse", Own),
            ("/usr/lib/python3.11/threading.py!Thread.run", Library),
            ("/usr/local/lib/python3.12/json/decoder.py!JSONDecoder.decode", Library),
            ("/usr/lib/python3/dist-packages/apt/cache.py!Cache.open", Library),
            ("/app/.venv/lib/python3.11/site-packages/requests/api.py!get", Library),
            ("/app/.venv/lib/python3.11/site-packages/numpy/core/_m.so!DOUBLE_add", Library),
            ("<frozen importlib._bootstrap>!_find_and_load", Library),
            ("<string>!<module>", Own),
            ("/app/_fast.cpython-311-x86_64-linux-gnu.so!parse", Own),
            ("[jit]!py::load:/app/app.py", Own),
            ("[jit]!py::run:/usr/lib/python3.11/threading.py", Library),
        ],
    );
}

#[test]
fn ruby_and_php_are_told_by_the_paths_of_their_scripts() {
    check(
        &["/usr/bin/ruby3.1", "/usr/bin/php8.2"],
        &[
            ("/usr/bin/ruby3.1!main", Runtime),
            ("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2!rb_yield", Runtime),
            ("[ruby]!each", Runtime),
            ("/app/app.rb!work", Own),
            ("/usr/lib/ruby/3.1.0/json/common.rb!parse", Library),
            ("/usr/local/lib/ruby/3.3.0/net/http.rb!request", Library),
            ("/home/me/.rbenv/versions/3.3.0/lib/ruby/site_ruby/x.rb!x", Library),
            ("/app/lib/ruby/orders.rb!parse", Own),
            ("/usr/local/bundle/gems/rack-3.0.8/lib/rack.rb!call", Library),
            ("<internal:kernel>!loop", Library),
            ("(eval at /app/app.rb:3)!block in work", Own),
            ("/usr/sbin/php-fpm8.2!execute_ex", Runtime),
            ("/usr/lib/apache2/modules/libphp8.2.so!execute_ex", Runtime),
            ("[php]!array_map", Runtime),
            ("/var/www/index.php!Orders::parse", Own),
            ("/var/www/index.php(3) : eval()'d code!{main}", Own),
            ("/var/www/vendor/monolog/monolog/src/Logger.php!Logger::log", Library),
            ("/usr/share/php/Twig/Lexer.php!Lexer::lex", Library),
        ],
    );
}

#[test]
fn node_is_told_by_the_paths_of_its_scripts() {
    check(
        &["/usr/bin/node"],
        &[
            ("/usr/bin/node!v8::base::ConditionVariable::WaitFor(v8::base::Mutex*)", Runtime),
            ("/opt/node/lib/libnode.so.115!uv_run", Runtime),
            ("/app/server.mjs!handle", Own),
            ("file:///app/server.mjs!handle", Own),
            ("/app/node_modules/express/lib/router.js!next", Library),
            ("node:internal/timers!processTimers", Library),
            ("internal/process/task_queues.js!processTicks", Library),
            ("[jit]!JS:*hashRows /tmp/n.cjs:2:18", Own),
            ("[jit]!JS:^ file:///app/m.mjs:1:1", Own),
            ("[jit]!JS:*writeSync node:fs:880:19", Library),
            ("[jit]!JS:~next /app/node_modules/express/lib/router.js:40:3", Library),
            ("[jit]!Eval:~ :1:1", Own),
            ("[jit]!Builtin:ArrayMap", Runtime),
            ("[jit]!RegExp:^a+$", Runtime),
            ("[jit]!BytecodeHandler:LdaZero", Runtime),
        ],
    );
}

#[test]
fn java_and_dotnet_are_told_by_packages_and_assemblies() {
    check(
        &["/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "/usr/share/dotnet/dotnet"],
        &[
            ("/usr/lib/jvm/java-17/lib/server/libjvm.so!Unsafe_Park", Runtime),
            ("/opt/jdk/lib/server/libjvm.so!Unsafe_Park", Runtime),
            ("/opt/jdk/lib/libnio.so!Java_sun_nio_ch_FileDispatcherImpl_force0", Runtime),
            ("[jit]!Interpreter", Runtime),
            ("[jit]!StubRoutines (1)", Runtime),
            ("[jit]!_complete_monitor_locking_Java", Runtime),
            ("[jit]!I2C/C2I adapters", Runtime),
            ("[jit]!void Main.book(int)", Own),
            ("[jit]!shop.Orders.parse", Own),
            ("[jit]!java.lang.Object Shop$$Lambda$6/0x00007f3d.apply(java.lang.Object)", Own),
            ("[jit]!java.lang.Object java.util.HashMap.get(java.lang.Object)", Library),
            ("[jit]!java.util.concurrent.locks.LockSupport.park", Library),
            ("[jit]!void org.example.java.Server.run()", Own),
            ("/usr/share/dotnet/shared/App/6.0/libcoreclr.so!JIT_WriteBarrier", Runtime),
            ("/usr/share/dotnet/shared/App/6.0/System.Private.CoreLib.dll!?", Library),
            ("/app/Shop.dll!?", Own),
            ("/root/.nuget/packages/dapper/2.0/lib/Dapper.dll!?", Library),
            ("[jit]!void [shop] Shop.Orders::Parse(string)[Tier0]", Own),
            ("[jit]!int32 [System.Linq] System.Linq.Enumerable::Count(class X)[Tier1]", Library),
            ("[jit]!?", Runtime),
        ],
    );
}

/// Names of jitted methods give the assembly alone, those of interpreted methods the class's source.
#[test]
fn managed_modules_without_a_path_are_told_by_their_names() {
    check(
        &["/opt/dotnet/dotnet", "/app/System.Tool"],
        &[
            ("System.Private.CoreLib!System.Array.Empty", Library),
            ("System!System.Uri.Parse", Library),
            ("Microsoft.AspNetCore.Server.Kestrel.Core!Http1Connection.Parse", Library),
            ("Newtonsoft.Json!Newtonsoft.Json.JsonConvert.DeserializeObject", Library),
            ("[jit]!void [Npgsql] Npgsql.NpgsqlConnection::Open()[Tier0]", Library),
            ("/app/Newtonsoft.Json.dll!?", Library),
            ("shop!Shop.Orders.Parse", Own),
            ("Systematic!Rules.Apply", Own),
            ("/app/System.Tool!main", Own),
            ("HashMap.java!java.util.HashMap.get", Library),
            ("DispatcherServlet.java!org.springframework.web.DispatcherServlet.doGet", Library),
            ("Orders.java!Orders.parse", Own),
            ("Orders.kt!shop.Orders.parse", Own),
        ],
    );
}

#[test]
fn what_a_runtime_brings_along_is_not_the_programs() {
    check(
        &["/opt/conda/envs/shop/bin/python3.11", "/opt/jdk/bin/java", "/srv/shop/bin/shop"],
        &[
            ("/opt/conda/envs/shop/bin/python3.11!_PyEval_EvalFrameDefault", Runtime),
            ("/opt/conda/envs/shop/lib/libcrypto.so.3!SHA256_Update", Library),
            ("/opt/conda/envs/shop/lib/python3.11/lib-dynload/_json.so!scan_once", Runtime),
            ("/opt/conda/envs/shop/lib/python3.11/site-packages/numpy/_m.so!add", Library),
            ("/opt/conda/envs/shop/lib/python3.11/site-packages/requests/api.py!get", Library),
            ("/opt/conda/envs/shop/lib/python3.11/json/decoder.py!decode", Library),
            ("/opt/conda/envs/shop/share/shop/app.py!main", Own),
            ("/opt/jdk/lib/libawt.so!Java_sun_awt_Loop", Library),
            ("/srv/shop/lib/libprices.so!quote", Own),
        ],
    );
}

#[test]
fn a_script_needs_no_ending() {
    let of_script = |path: &str, function: &str| {
        let mut recording = recording(&["/usr/bin/python3.11"], &[&format!("{path}!{function}")]);
        // V8's `[eval]` is the module `eval`: brackets are the kernel's.
        recording.modules[0].name = paths::base_name(path).trim_matches(['[', ']']).into();
        recording.frames[0].file = Some(path.into());
        recording.frames[0].line = Some(3);
        let own = OwnCode::new(&recording, &Patterns::default());
        own.origin(FrameId(0))
    };
    assert_eq!(of_script("/app/manage", "<module>"), Own);
    assert_eq!(of_script("/app/manage", "core::x"), Own);
    assert_eq!(of_script("bin/rails", "<main>"), Own);
    assert_eq!(of_script("[eval]", "total"), Own);
    assert_eq!(of_script("/usr/lib/ruby/bundler", "setup"), Library);
    assert_eq!(of_script("/app/node_modules/.bin/jest", "run"), Library);
}

#[test]
fn a_function_without_a_module_is_told_by_its_name_and_file() {
    for (function, file, expected) in [
        ("<module>", None, Own),
        ("load", None, Own),
        ("load", Some("/app/app.py"), Own),
        ("decode", Some("/opt/conda/lib/python3.12/json/decoder.py"), Library),
        ("get", Some("/app/.venv/lib/python3.11/site-packages/requests/api.py"), Library),
        ("java/util/HashMap.get", None, Library),
        ("shop/Orders.parse", None, Own),
    ] {
        let mut recording = recording(&[], &["x!y"]);
        recording.frames[0] =
            Frame { file: file.map(Into::into), ..Frame::new(None, function, None) };
        let own = OwnCode::new(&recording, &Patterns::default());
        assert_eq!(own.origin(FrameId(0)), expected, "{function} {file:?}");
    }
}

#[test]
fn other_scripting_languages_are_told_by_paths() {
    check(
        &["/usr/bin/ruby3.1", "/usr/sbin/php-fpm8.2", "/usr/bin/perl"],
        &[
            ("/usr/bin/ruby3.1!main", Runtime),
            ("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1!vm_exec", Runtime),
            ("/srv/app/models/order.rb!Order#total", Own),
            ("/usr/lib/ruby/3.1.0/net/http.rb!Net::HTTP#request", Library),
            ("/var/lib/gems/3.1.0/gems/rack-2.2/lib/rack.rb!call", Library),
            ("/usr/sbin/php-fpm8.2!execute_ex", Runtime),
            ("/var/www/index.php!total", Own),
            ("/var/www/vendor/autoload.php!load", Library),
            ("/usr/bin/perl!Perl_runops_standard", Runtime),
            ("/usr/share/perl/5.36/JSON/PP.pm!decode", Library),
            ("/srv/report.pl!main::render", Own),
        ],
    );
}

#[test]
fn go_modules_are_known_by_their_runtime() {
    let frames = ["/app/shop!main.work", "/app/shop!strings.ToLower", "/app/other!time.Parse"];
    let mut recording = recording(&["/app/shop"], &frames);
    recording.frames[1].module = Some(ModuleId(0));
    recording.frames.push(Frame::new(Some(ModuleId(0)), "runtime.mallocgc", None));
    let own = OwnCode::new(&recording, &Patterns::default());
    let of = |at: usize| own.origin(FrameId::from_index(at));
    assert_eq!((of(0), of(1), of(3)), (Own, Library, Library));
    assert_eq!(of(2), Own, "no module of Go");
}

/// The function that a stack of `/app/app` or of `python3.11` points at.
#[track_caller]
fn points_at(patterns: &str, frames: &[&str], expected: Option<&str>) {
    let recording = recording(&["/app/app", "/usr/bin/python3.11"], frames);
    let patterns = Patterns::parse(patterns).expect(patterns);
    let own = OwnCode::new(&recording, &patterns);
    let leaf = StackId::from_index(frames.len() - 1);
    let found = own.nearest(Some(leaf)).map(|frame| recording.frame(frame).function.to_string());
    assert_eq!(found.as_deref(), expected, "{frames:?}");
}

const SCRIPT: [&str; 7] = [
    "/usr/bin/python3.11!_start",
    "/app/app.py!main",
    "/app/app.py!load_rows",
    "/x/site-packages/db/api.py!fetch",
    "/usr/bin/python3.11!_PyEval_EvalFrameDefault",
    "/lib/libc.so.6!read",
    "[kernel]!ksys_read",
];

#[test]
fn the_innermost_frame_of_the_best_origin_is_pointed_at() {
    points_at("", &SCRIPT, Some("load_rows"));
    points_at("", &[&SCRIPT[..1], &SCRIPT[3..]].concat(), Some("fetch"));
    points_at("", &[&SCRIPT[..1], &SCRIPT[4..]].concat(), None);
    points_at("", &["/app/app!main", "/app/app!?", "/lib/libc.so.6!read"], Some("main"));
    let calls_back = ["/app/app!main", "/app/app!std::sort<X>(X*, X*)", "/app/app!less(X, X)"];
    points_at("", &calls_back, Some("less(X, X)"));
}

#[test]
fn patterns_replace_the_rule() {
    points_at("^api.py!", &SCRIPT, Some("fetch"));
    points_at("/site-packages/db/", &SCRIPT, Some("fetch"));
    points_at("!main", &SCRIPT, Some("main"));
    points_at("libc.so.6!read", &SCRIPT, Some("read"));
    // Nothing matches on this stack: its libraries come next, the script among them.
    points_at("^nothing", &SCRIPT, Some("fetch"));
}

#[test]
fn a_pick_stays_where_nothing_is_nearer_to_the_author() {
    let frames = ["/app/app!main", "/app/app!parse", "/lib/libc.so.6!strtol"];
    let recording = recording(&["/app/app"], &frames);
    let own = OwnCode::new(&recording, &Patterns::default());
    let frame = |at| Some(FrameId::from_index(at));
    let leaf = Some(StackId::from_index(2));
    assert_eq!(own.pointed(leaf, frame(0)), frame(0));
    assert_eq!(own.pointed(leaf, frame(2)), frame(1));
    assert_eq!(own.pointed(leaf, None), frame(1));
    assert_eq!(own.pointed(None, frame(2)), frame(2));
}

#[test]
fn texts_name_a_function_by_its_source() {
    let frames =
        ["/app/app!parse", "[jit]!JS:*f /app/a.js:2:3", "[jit]!shop.Orders.parse", "[jit]!?"];
    let mut recording = recording(&[], &frames);
    let names = |recording: &Recording| {
        let all = (0..frames.len()).map(FrameId::from_index);
        all.map(|frame| (function_name(recording, frame), function_label(recording, frame)))
            .map(|(name, label)| format!("{name} / {label}"))
            .collect::<Vec<_>>()
    };
    let expected =
        ["app!parse / app!parse", "f a.js / f a.js:2", "shop.Orders.parse / shop.Orders.parse"];
    assert_eq!(names(&recording)[..3], expected);
    assert_eq!(names(&recording)[3], "[jit]!? / [jit]!?");
    (recording.frames[0].file, recording.frames[0].line) = (Some("/src/parse.c".into()), Some(9));
    assert_eq!(names(&recording)[0], "app!parse / parse parse.c:9");
}

#[test]
fn a_source_file_tells_what_a_name_does_not() {
    for (file, expected) in [
        ("/root/.cargo/registry/src/index-1/regex-1.9/src/lib.rs", Library),
        ("/usr/local/cargo/registry/src/index.crates.io-6f17/regex-1.9/src/lib.rs", Library),
        ("/usr/local/cargo/git/checkouts/regex-ab12/34cd/src/lib.rs", Library),
        ("/srv/registry/src/lib.rs", Own),
        ("/rustc/ab12/library/core/src/iter/range.rs", Library),
        ("/root/go/pkg/mod/example.org/x@v1.2.3/y.go", Library),
        ("example.org/x@v1.2.3/y.go", Library),
        ("/usr/include/c++/12/bits/hashtable.h", Library),
        ("/build/shop/src/orders.rs", Own),
        ("internal/orders.go", Own),
        ("orders.c", Own),
    ] {
        let mut recording = recording(&["/app/app"], &["/app/app!step"]);
        recording.frames[0].file = Some(file.into());
        let own = OwnCode::new(&recording, &Patterns::default());
        assert_eq!(own.origin(FrameId(0)), expected, "{file}");
    }
}
