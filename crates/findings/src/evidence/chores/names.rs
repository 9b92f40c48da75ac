//! The names of library functions by chore: data that `table` looks up.
//!
//! `*` stands for any text, everything else must match from the first to the last character, so that
//! a program's own `parse_date_header` is none. C++ names have their arguments but no return type,
//! Rust names no hash, Java's neither types nor arguments (see
//! [`culprit_model::java_method`]). Rows for runtimes whose internal names are plain words
//! hold in that runtime's modules only.

use super::Chore;

/// Where a row's names hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// In every module: names of the C library or with their language's namespace.
    Any,
    /// In CPython and its extension modules.
    Python,
    /// In the Java virtual machine.
    Jvm,
}

/// One row: a chore and its names, separated by `|` because C++ names have blanks.
pub(super) struct Row {
    pub(super) chore: Chore,
    pub(super) within: Within,
    pub(super) names: &'static str,
}

const fn any(chore: Chore, names: &'static str) -> Row {
    Row { chore, within: Within::Any, names }
}

const fn python(chore: Chore, names: &'static str) -> Row {
    Row { chore, within: Within::Python, names }
}

const fn jvm(chore: Chore, names: &'static str) -> Row {
    Row { chore, within: Within::Jvm, names }
}

/// The table. Sources: glibc 2.31 to 2.41 time/, string/, malloc/, posix/, stdio-common/; musl 1.2;
/// libstdc++ of GCC 10 to 14; Rust std 1.70 to 1.90 and the crates' own module names; Go 1.20 to 1.26
/// runtime and standard library; CPython 3.9 to 3.14 Modules/ and Objects/; the class library of
/// OpenJDK 17 to 21; V8 and its builtins as Node.js 18 to 22 has them; OpenJDK 11 to 25
/// src/hotspot/share (gc, classfile, compiler, interpreter); V8 10 to 13 src/heap and src/codegen;
/// .NET 6 to 9 src/coreclr (gc, jit, vm).
pub(super) const TABLE: &[Row] = &[
    jvm(
        Chore::Collect,
        "VM_G1*|VM_GenCollect*|VM_CollectFor*|VM_Parallel*|VM_Shenandoah*|VM_ZOperation*|\
         VM_XOperation*|VM_GC_Operation*|VMGCOperation*|G1CollectedHeap::do_collection*|\
         G1CollectedHeap::do_full*|G1CollectedHeap::collect*|G1CollectedHeap::evacuate*|\
         G1CollectedHeap::try_collect*|G1YoungCollector*|G1ParScan*|G1ParCopy*|G1Evacuate*|\
         G1FullGC*|G1FullCollector*|G1Concurrent*|G1CM*|G1RemSet*|G1ScanRS*|G1RootProcessor*|\
         G1PreEvacuate*|G1PostEvacuate*|G1MergeHeap*|G1RebuildRemSet*|G1ServiceThread*|\
         G1ParTask*|G1PrepareEvacuation*|DefNewGeneration::collect*|TenuredGeneration::collect*|\
         GenCollectedHeap::do_collection*|GenCollectedHeap::collect*|SerialHeap::do_collection*|\
         SerialHeap::collect*|SerialHeap::do_young*|SerialHeap::do_full*|GenMarkSweep::*|\
         MarkSweep::*|SerialFullGC::*|PSScavenge::*|PSParallelCompact::*|PSPromotion*|PSYoungGC*|\
         ParallelScavengeHeap::collect*|ParallelScavengeHeap::do_full*|ScavengeRootsTask*|\
         ParCompaction*|ShenandoahConcurrent*|ShenandoahFullGC*|ShenandoahDegen*|\
         ShenandoahControlThread*|Shenandoah*Task::*|ZMark::*|ZRelocate::*|ZDriver*|ZGeneration*|\
         ZHeap::mark*|ZHeap::relocate*|ZCollectedHeap::collect*|XMark::*|XRelocate::*|XDriver*|\
         GangWorker::run_task*|GCTaskThread::*|GenericTaskQueueSet<*|TaskTerminator::*",
    ),
    any(
        Chore::Collect,
        "v8::internal::Heap::CollectGarbage*|v8::internal::Heap::CollectAll*|\
         v8::internal::Heap::PerformGarbageCollection*|v8::internal::Heap::Scavenge*|\
         v8::internal::Heap::MarkCompact*|v8::internal::Heap::FinalizeIncrementalMarking*|\
         v8::internal::Scavenge*|v8::internal::MarkCompactCollector*|\
         v8::internal::ConcurrentMarking*|v8::internal::IncrementalMarking*|\
         v8::internal::Sweeper::*|v8::internal::MinorMark*|v8::internal::PointersUpdatingJob*|\
         v8::internal::PageEvacuationJob*|v8::internal::YoungGeneration*|\
         v8::internal::ArrayBufferSweeper*|v8::internal::MainMarkingVisitor*|\
         v8::internal::ScavengerCollector*|cppgc::internal::*Marker*|cppgc::internal::Sweeper*",
    ),
    any(
        Chore::Collect,
        "runtime.gcBgMarkWorker*|runtime.gcAssistAlloc*|runtime.gcDrain*|runtime.gcStart*|\
         runtime.gcMark*|runtime.gcSweep|runtime.gcParkAssist|runtime.bgsweep|runtime.bgscavenge|\
         runtime.sweepone*|runtime.(*sweepLock*|runtime.(*mspan).sweep|\
         runtime.deductSweepCredit*|runtime.wbBufFlush*|runtime.scanobject|runtime.greyobject|\
         runtime.markroot*|runtime.scanstack|runtime.scanSpan*|runtime.(*mheap).reclaim*|\
         runtime.stopTheWorldGC|runtime.gcController*|runtime.(*gcControllerState)*|runtime.GC",
    ),
    python(
        Chore::Collect,
        "gc_collect_main*|gc_collect_with_callback|gc_collect_generations|gc_collect|\
         gc_collect_impl|gc_collect_young|gc_collect_increment|gc_collect_full|gc_collect_region|\
         gc_collect_internal|collect|collect_generations|collect_with_callback|\
         deduce_unreachable*|_PyGC_Collect*|PyGC_Collect|_Py_RunGC",
    ),
    any(
        Chore::Collect,
        "WKS::gc_heap::garbage_collect*|WKS::gc_heap::gc1*|WKS::gc_heap::mark_*|\
         WKS::gc_heap::plan_phase*|WKS::gc_heap::relocate_*|WKS::gc_heap::compact_*|\
         WKS::gc_heap::bgc_*|WKS::gc_heap::background_*|WKS::GCHeap::GarbageCollect*|\
         SVR::gc_heap::garbage_collect*|SVR::gc_heap::gc1*|SVR::gc_heap::mark_*|\
         SVR::gc_heap::plan_phase*|SVR::gc_heap::relocate_*|SVR::gc_heap::compact_*|\
         SVR::gc_heap::bgc_*|SVR::gc_heap::background_*|SVR::gc_heap::gc_thread_*|\
         SVR::GCHeap::GarbageCollect*",
    ),
    jvm(
        Chore::Generate,
        "SystemDictionary::*|SystemDictionaryShared::*|ClassLoader::load_class*|\
         ClassFileParser::*|KlassFactory::*|LinkResolver::*|Rewriter::*|Verifier::*|\
         ClassVerifier::*|InstanceKlass::link_class*|InstanceKlass::initialize*|JVM_DefineClass*|\
         JVM_FindClass*|JVM_LookupDefineClass*|jvm_define_class_common*|jni_DefineClass*|\
         InterpreterRuntime::resolve_*|InterpreterRuntime::ldc*|InterpreterRuntime::quicken_*|\
         MethodHandles::*|MHN_*|CompileBroker::*|CompilationPolicy::*|C2Compiler::*|Compile::*|\
         Compilation::*|Compiler::compile_method*|PhaseChaitin::*|CompilerThread::*",
    ),
    any(
        Chore::Generate,
        "v8::internal::Compiler::*|v8::internal::compiler::*|v8::internal::interpreter::*|\
         v8::internal::baseline::*|v8::internal::maglev::*|v8::internal::Parser::*|\
         v8::internal::ParserBase<*|v8::internal::PreParser*|v8::internal::parsing::*|\
         v8::internal::Scanner::*|v8::internal::Optimiz*Compil*|v8::internal::Turbofan*|\
         v8::internal::UnoptimizedCompil*|v8::internal::CodeSerializer::*|\
         v8::internal::wasm::*Compil*|v8::internal::FinalizeUnoptimized*|\
         v8::internal::DeclarationScope::*|v8::ScriptCompiler::*|v8::Script::Compile*|\
         v8::internal::CreateDynamicFunction*|\
         v8::internal::(anonymous namespace)::CreateDynamicFunction*|\
         v8::internal::(anonymous namespace)::*Compile*",
    ),
    python(
        Chore::Generate,
        "builtin_compile*|Py_CompileString*|_PyAST_Compile*|PyAST_Compile*|_PyParser_ASTFrom*|\
         PyParser_*|PyPegen_*|_PyPegen_run_parser*|marshal_loads*|marshal_load|\
         PyMarshal_ReadObject*|unmarshal_frozen_code|_imp_get_frozen_object*|\
         _imp_create_dynamic*|_PyImport_LoadDynamicModule*",
    ),
    any(
        Chore::Generate,
        "MethodDesc::JitCompileCode*|MethodDesc::DoPrestub*|UnsafeJitFunction*|CILJit::*|\
         ClassLoader::LoadTypeHandle*|AssemblySpec::LoadAssembly*|AssemblyNative::Load*|\
         PEAssembly::*|TieredCompilation*",
    ),
    any(
        Chore::Dates,
        "strptime|strptime_l|__strptime_internal|strftime|strftime_l|__strftime_l|\
         __strftime_internal|wcsftime|mktime|__mktime_internal|timegm|localtime|localtime_r|\
         gmtime|gmtime_r|__localtime64_r|__gmtime64_r|__tz_convert|__offtime|__tzfile_compute|\
         __tzfile_default|tzset|tzset_internal|ctime|ctime_r|asctime|asctime_r|asctime_internal|\
         __asctime_r|getdate|getdate_r",
    ),
    any(
        Chore::Dates,
        "std::time_get<*|std::time_put<*|std::__cxx11::time_get<*|std::_Get_time<*|\
         std::_Put_time<*|std::chrono::parse*|std::chrono::from_stream<*|\
         std::chrono::__detail::_Parser<*|std::__format::__formatter_chrono<*",
    ),
    any(
        Chore::Dates,
        "chrono::format::*|<chrono::format::*|chrono::*::parse_from_str|chrono::*::parse_from_rfc*|\
         chrono::*::parse_and_remainder|<chrono::* as core::str::traits::FromStr>::from_str|\
         chrono::*<impl core::str::traits::FromStr for chrono::*|\
         <chrono::* as core::fmt::*|time::parsing::*|<time::parsing::*|time::formatting::*|\
         <time::formatting::*|time::format_description::*|<time::format_description::*|\
         humantime::date::*|jiff::fmt::*|<jiff::fmt::*|speedate::*",
    ),
    any(
        Chore::Dates,
        "time.Parse|time.parse|time.ParseInLocation|time.parseRFC3339*|time.parseStrict*|\
         time.Time.Format|time.Time.AppendFormat|time.Time.appendFormat*|time.Time.Marshal*|\
         time.Time.appendStrictRFC3339|time.(*Time).Unmarshal*|time.Date|time.LoadLocation*",
    ),
    python(
        Chore::Dates,
        "datetime_strptime|datetime_datetime_strptime*|datetime_fromisoformat|\
         datetime_datetime_fromisoformat*|date_fromisoformat|datetime_date_fromisoformat*|\
         time_fromisoformat|datetime_time_fromisoformat*|datetime_isoformat|\
         datetime_datetime_isoformat*|date_strftime|datetime_date_strftime*|time_strptime|\
         time_strftime|time_strftime1|wrap_strftime|parse_isoformat_date|parse_isoformat_time|\
         parse_hh_mm_ss_ff",
    ),
    any(Chore::Dates, "py::*:*/_strptime.py|py::*:*/_pydatetime.py"),
    any(
        Chore::Dates,
        "java.time.format.*|java.time.*.parse|java.time.*.format|java.text.SimpleDateFormat.*|\
         java.text.DateFormat.*|java.util.Calendar.*|java.util.GregorianCalendar.*|\
         sun.util.calendar.*|java.util.Date.toString|java.util.Date.parse|*java/time/format/*|\
         *java/text/SimpleDateFormat*|v8::internal::*ParseDateTimeString*|\
         v8::internal::ToDateString*|v8::internal::DateParser::*|\
         v8::internal::JSDateTimeFormat::*|v8::internal::Builtin_DateParse*|\
         v8::internal::Builtin_DatePrototypeTo*|v8::internal::Builtin_DateTimeFormat*|\
         Builtins_DatePrototypeTo*|Builtins_DateTimeFormat*",
    ),
    any(
        Chore::Cases,
        "strcasecmp|strncasecmp|strcasecmp_l|strncasecmp_l|__strcasecmp*|__strncasecmp*|\
         strcasestr|__strcasestr*|wcscasecmp|wcsncasecmp|tolower|toupper|tolower_l|toupper_l|\
         __tolower_l|__toupper_l|towlower|towupper|__towlower*|__towupper*|strcoll|strcoll_l|\
         __strcoll_l|wcscoll|__wcscoll_l|strxfrm|strxfrm_l|__strxfrm_l",
    ),
    any(
        Chore::Cases,
        "std::ctype<char>::do_to*|std::ctype<wchar_t>::do_to*|std::ctype<*>::tolower*|\
         std::ctype<*>::toupper*|std::tolower<*|std::toupper<*|std::collate<*|\
         std::__cxx11::collate<*|boost::algorithm::to_lower*|boost::algorithm::to_upper*|\
         boost::algorithm::iequals*|boost::algorithm::detail::to_lower*|u_strToLower*|\
         u_strToUpper*|u_strFoldCase*|u_strcasecmp*|u_tolower_*|u_foldCase_*|ucol_strcoll*|\
         ucasemap_*|icu_*::RuleBasedCollator::*|icu_*::UnicodeString::toLower*|\
         icu_*::UnicodeString::foldCase*",
    ),
    any(
        Chore::Cases,
        "alloc::str::<impl str>::to_*case|alloc::str::convert_while_ascii*|\
         alloc::slice::<impl [u8]>::to_ascii_*case|core::unicode::unicode_data::conversions::*|\
         core::char::methods::<impl char>::to_*case|*::<impl char>::eq_ignore_ascii_case|\
         core::str::<impl str>::eq_ignore_ascii_case|core::str::<impl str>::make_ascii_*case|\
         core::slice::ascii::<impl [u8]>::eq_ignore_ascii_case|\
         core::slice::ascii::<impl [u8]>::make_ascii_*case|core::num::<impl u8>::to_ascii_*case|\
         core::num::<impl u8>::eq_ignore_ascii_case|<str>::to_*case|\
         <str>::eq_ignore_ascii_case|<str>::make_ascii_*case|\
         <[u8]>::to_ascii_*case|<[u8]>::make_ascii_*case|<[u8]>::eq_ignore_ascii_case|\
         <u8>::to_ascii_*case|<u8>::make_ascii_*case|<u8>::eq_ignore_ascii_case|\
         <char>::to_*case|<char>::make_ascii_*case|<char>::eq_ignore_ascii_case|\
         unicase::*|<unicase::*|caseless::*",
    ),
    any(
        Chore::Cases,
        "strings.ToLower|strings.ToUpper|strings.EqualFold|strings.ToTitle|bytes.ToLower|\
         bytes.ToUpper|bytes.EqualFold|unicode.ToLower|unicode.ToUpper|unicode.SimpleFold|\
         unicode.To|golang.org/x/text/cases.*|golang.org/x/text/collate.*",
    ),
    python(
        Chore::Cases,
        "unicode_lower|unicode_upper|unicode_casefold|unicode_swapcase|unicode_title|\
         unicode_capitalize|do_lower|do_upper|do_casefold|case_operation|ascii_upper_or_lower|\
         lower_ucs4|_PyUnicode_ToLowerFull|_PyUnicode_ToFoldedFull|_PyUnicode_ToUpperFull|\
         _Py_bytes_lower|_Py_bytes_upper|stringlib_lower|stringlib_upper",
    ),
    any(
        Chore::Cases,
        "java.lang.String.to*Case|java.lang.String.equalsIgnoreCase|\
         java.lang.String.compareToIgnoreCase|java.lang.String$CaseInsensitiveComparator.*|\
         java.lang.String*.to*Case*|java.lang.String*.regionMatchesCI*|\
         java.lang.String*.compareToCI*|java.lang.Character.to*Case|\
         java.lang.CharacterData*.to*Case|java.text.RuleBasedCollator.*|java.text.Collat*|\
         Builtins_StringPrototypeToLowerCase*|Builtins_StringPrototypeToUpperCase*|\
         Builtins_StringToLowerCase*|Builtins_StringPrototypeLocaleCompare|\
         Builtins_Collator*Compare|v8::internal::Runtime_StringTo*CaseIntl*|\
         v8::internal::Builtin_StringPrototypeToUpperCase*|\
         v8::internal::Builtin_StringPrototypeLocaleCompare*|\
         v8::internal::Builtin_Collator*Compare*|v8::internal::Intl::Convert*To*er*|\
         v8::internal::Intl::CompareStrings*|v8::internal::Intl::StringLocaleCompare*",
    ),
    any(
        Chore::Regex,
        "regcomp|__regcomp|regfree|__regfree|free_dfa_content|re_compile_internal|\
         re_compile_pattern|re_compile_fastmap*|\
         pcre_compile*|pcre2_compile*|pcre2_jit_compile*|onig_new*|onig_compile*|hs_compile*|\
         tre_compile|tre_regncomp",
    ),
    any(
        Chore::Regex,
        "std::__detail::_Compiler<*|std::__detail::_Scanner<*|\
         std::__cxx11::basic_regex<*>::basic_regex*|\
         std::__cxx11::basic_regex<*>::_M_compile*|std::__cxx11::basic_regex<*>::assign*|\
         std::__cxx11::basic_regex<*>::~basic_regex*|\
         std::basic_regex<*>::basic_regex*|boost::re_detail*::basic_regex_parser<*|\
         boost::re_detail*::basic_regex_creator<*|boost::basic_regex<*>::do_assign*|\
         re2::RE2::Init*|re2::RE2::RE2*|re2::Regexp::Parse*|re2::Compiler::*",
    ),
    any(
        Chore::Regex,
        "regex::regex::*::Regex::new|regex::builders::*|regex::regexset::*::new|\
         regex_automata::*::Builder::build*|regex_automata::nfa::thompson::compiler::*|\
         regex_automata::meta::strategy::new|regex_automata::dfa::determinize::*|regex_syntax::*|\
         <regex_syntax::*|aho_corasick::*builder*::build*|fancy_regex::Regex::new*|\
         fancy_regex::RegexBuilder::*",
    ),
    any(
        Chore::Regex,
        "regexp.Compile|regexp.MustCompile|regexp.CompilePOSIX|regexp.MustCompilePOSIX|\
         regexp.compile|regexp.compileOnePass|regexp/syntax.*",
    ),
    python(Chore::Regex, "_sre_compile*|_sre.compile|pattern_new_impl"),
    any(
        Chore::Regex,
        "py::*:*/re/_compiler.py|py::*:*/re/_parser.py|py::*:*/sre_compile.py|\
         py::*:*/sre_parse.py|java.util.regex.Pattern.compile|\
         java.util.regex.Pattern.<init>|java.util.regex.Pattern.sequence|\
         java.util.regex.Pattern.expr|java.util.regex.Pattern.group0|\
         java.util.regex.Pattern.closure|java.util.regex.Pattern.clazz|\
         java.util.regex.Pattern.atom|java.util.regex.Pattern.escape|\
         java.util.regex.Pattern.newSlice|java.util.regex.Pattern.newCharProperty|\
         java.util.regex.Pattern.range|java.util.regex.*.study|java.lang.String.matches|\
         v8::internal::RegExpImpl::Compile*|v8::internal::RegExpImpl::AtomCompile*|\
         v8::internal::RegExpImpl::Irregexp*Prepare*|v8::internal::RegExp::Compile*|\
         v8::internal::RegExp::EnsureFullyCompiled*|v8::internal::RegExpCompiler::*|\
         v8::internal::RegExpParser*|v8::internal::*RegExpParserImpl<*|\
         v8::internal::Runtime_RegExpInitializeAndCompile*|\
         v8::internal::RegExpBytecodeGenerator::*|v8::internal::RegExpMacroAssembler*",
    ),
    any(
        Chore::Serialize,
        "json_loads|json_loadb|json_loadf|json_load_file|json_dumps|json_dumpb|json_dumpf|\
         cJSON_Parse*|cJSON_Print*|json_tokener_parse*|json_object_to_json_string*|yyjson_read*|\
         yyjson_write*|yyjson_mut_write*|xmlParse*|xmlReadMemory|xmlReadDoc|xmlReadFile|\
         xmlSAXUserParse*|xmlTextReader*|xmlTextWriter*|XML_Parse|XML_ParseBuffer|yaml_parser_*|\
         EVP_EncodeUpdate|EVP_DecodeUpdate|EVP_EncodeBlock|EVP_DecodeBlock|iconv|__gconv|\
         __gconv_transform_*|mbstowcs|mbsrtowcs|__mbsrtowcs*|wcstombs|wcsrtombs|mbrtowc|\
         __mbrtowc|wcrtomb|__wcrtomb",
    ),
    any(
        Chore::Serialize,
        "simdjson::*|rapidjson::GenericReader<*|rapidjson::Writer<*|rapidjson::PrettyWriter<*|\
         nlohmann::*detail::parser<*|nlohmann::*detail::lexer<*|nlohmann::*detail::serializer<*|\
         Json::Reader::*|Json::OurReader::*|Json::*Writer::*|tinyxml2::XMLDocument::Parse*|\
         pugi::impl::*xml_parser::*|google::protobuf::*::ParseFrom*|\
         google::protobuf::*::SerializeTo*|google::protobuf::internal::*|std::codecvt<*",
    ),
    any(
        Chore::Serialize,
        "serde_json::de::*|serde_json::ser::*|serde_json::read::*|serde_json::from_*|\
         serde_json::to_*|serde_json::value::de::*|serde_json::value::ser::*|\
         <serde_json::*|<&mut serde_json::*|*<impl serde::*|*<impl serde_core::*|\
         <* as serde::*|<* as serde_core::*|serde_yaml::*|bincode::*|rmp_serde::*|ciborium::*|\
         quick_xml::*|simd_json::*|prost::encoding::*|base64::*|<base64::*|encoding_rs::*|\
         postcard::*",
    ),
    any(
        Chore::Serialize,
        "encoding/json.*|encoding/xml.*|encoding/base64.*|encoding/gob.*|encoding/hex.*|\
         gopkg.in/yaml*|github.com/goccy/go-json*|github.com/json-iterator/go.*|\
         google.golang.org/protobuf/*",
    ),
    python(
        Chore::Serialize,
        "scanner_call|_parse_object_unicode|_parse_array_unicode|_match_number_unicode|\
         scan_once_unicode|scanstring_unicode|py_scanstring|encoder_call|encoder_listencode_*|\
         py_encode_basestring*|ascii_escape_unicode|escape_unicode|binascii_b2a_base64*|\
         binascii_a2b_base64*|_pickle_dump*|_pickle_load*|pyexpat_xmlparser_Parse*|\
         xmlparse_Parse*|_elementtree_XMLParser_feed*|expat_parse",
    ),
    any(
        Chore::Serialize,
        "py::*:*/json/encoder.py|py::*:*/json/decoder.py|py::*:*/json/scanner.py|\
         com.fasterxml.jackson.*|com.google.gson.*|com.google.protobuf.*|\
         java.io.ObjectInputStream*|java.io.ObjectOutputStream*|java.util.Base64$*|\
         javax.xml.*|com.sun.org.apache.xerces.*|com.sun.org.apache.xalan.*|\
         v8::internal::JsonParser<*|v8::internal::JsonStringif*|v8::internal::Builtin_Json*|\
         v8::internal::ValueSerializer::*|v8::internal::ValueDeserializer::*|Builtins_Json*",
    ),
    any(
        Chore::Numbers,
        "printf|fprintf|sprintf|snprintf|vsnprintf|vsprintf|vfprintf|vprintf|asprintf|vasprintf|\
         dprintf|vdprintf|_IO_printf|_IO_fprintf|_IO_sprintf|_IO_vfprintf|__vfprintf_internal|\
         __vsnprintf_internal|__vsprintf_internal|__printf_chk|__fprintf_chk|__sprintf_chk|\
         __snprintf_chk|__vsnprintf_chk|__vfprintf_chk|___*printf_chk|__printf_fp*|\
         __printf_buffer*|\
         printf_positional|printf_core|fmt_fp|scanf|sscanf|fscanf|vsscanf|vfscanf|\
         __isoc*_sscanf|__isoc*_fscanf|__isoc*_vsscanf|__vfscanf_internal|_IO_vfscanf*|strtod|\
         strtof|strtold|strtod_l|____strtod_l_internal|____strtof_l_internal|\
         ____strtold_l_internal|\
         __strtod_internal|strtol|strtoll|strtoul|strtoull|strtoimax|____strtol*_l_internal|\
         ____strtoul*_l_internal|__strtol_internal|__isoc23_strto*|atof|atoi|atol|atoll",
    ),
    any(
        Chore::Numbers,
        "std::ostream::_M_insert<*|std::ostream::operator<<(*|std::istream::_M_extract<*|\
         std::istream::operator>>(*|std::num_put<*|std::num_get<*|std::to_string(*|\
         std::__cxx11::to_string(*|std::__cxx11::stod(*|std::__cxx11::stoi(*|\
         std::__cxx11::stol(*|std::from_chars(*|std::to_chars(*|std::from_chars<*|\
         std::to_chars<*|std::vformat*|std::__format::*|__gnu_cxx::__to_xstring<*|\
         __gnu_cxx::__stoa<*|std::__convert_to_v<*|fmt::v*::*",
    ),
    any(
        Chore::Numbers,
        "core::fmt::*|<core::fmt::*|alloc::fmt::*|std::io::Write::write_fmt|core::num::flt2dec::*|\
         core::num::dec2flt::*|core::num::imp::flt2dec::*|core::num::imp::dec2flt::*|\
         core::num::<impl core::str::traits::FromStr for *|\
         core::num::<impl *>::from_str_radix|<*>::from_str_radix|<*>::from_ascii_radix|\
         <u8 as core::str::traits::FromStr>::from_str|\
         <u16 as core::str::traits::FromStr>::from_str|\
         <u32 as core::str::traits::FromStr>::from_str|\
         <u64 as core::str::traits::FromStr>::from_str|\
         <u128 as core::str::traits::FromStr>::from_str|\
         <usize as core::str::traits::FromStr>::from_str|\
         <i8 as core::str::traits::FromStr>::from_str|\
         <i16 as core::str::traits::FromStr>::from_str|\
         <i32 as core::str::traits::FromStr>::from_str|\
         <i64 as core::str::traits::FromStr>::from_str|\
         <i128 as core::str::traits::FromStr>::from_str|\
         <isize as core::str::traits::FromStr>::from_str|\
         <f32 as core::str::traits::FromStr>::from_str|\
         <f64 as core::str::traits::FromStr>::from_str|*::<impl core::fmt::Display for *|\
         *::<impl core::fmt::LowerExp for *|<* as core::fmt::Display>::fmt|\
         <* as core::fmt::Debug>::fmt|<* as alloc::string::ToString>::to_string|\
         <* as alloc::string::SpecToString>::spec_to_string|ryu::*|itoa::*|lexical_core::*|\
         fast_float::*",
    ),
    any(Chore::Numbers, "fmt.*|strconv.*"),
    python(
        Chore::Numbers,
        "float_repr|PyOS_double_to_string|PyOS_string_to_double|_Py_dg_dtoa|_Py_dg_strtod|\
         float_new|float_new_impl|PyFloat_FromString|float_from_string_inner|\
         long_to_decimal_string*|long_to_decimal_string_internal|PyLong_FromString|\
         PyLong_FromUnicodeObject|_PyLong_FormatAdvancedWriter|_PyFloat_FormatAdvancedWriter|\
         _PyLong_FormatWriter|_PyLong_Format|float___format__|int___format__|\
         format_float_internal|format_long_internal|PyUnicode_Format|unicode_format_arg|\
         unicode_format_arg_format|do_string_format|PyObject_Format",
    ),
    any(
        Chore::Numbers,
        "java.util.Formatter*|java.lang.String.format*|java.text.DecimalFormat.*|\
         java.text.NumberFormat.*|java.text.DigitList.*|java.text.MessageFormat.*|\
         java.lang.Double.parseDouble|java.lang.Double.toString|java.lang.Float.parseFloat|\
         java.lang.Float.toString|java.lang.Integer.parseInt|java.lang.Integer.toString|\
         java.lang.Integer.valueOf|java.lang.Long.parseLong|java.lang.Long.toString|\
         java.lang.Integer.getChars|java.lang.Long.getChars|jdk.internal.math.*|\
         Builtins_NumberToString*|Builtins_NumberPrototypeTo*|Builtins_NumberParse*|\
         Builtins_StringToNumber|v8::internal::*::NumberToString(*|\
         v8::internal::*::HeapNumberToString*|v8::internal::Builtin_NumberPrototypeTo*|\
         v8::internal::Runtime_NumberToString*|v8::internal::Runtime_StringParse*|\
         v8::internal::Runtime_StringToNumber*|v8::internal::IntToCString*|\
         v8::internal::DoubleTo*CString*|v8::internal::StringToDouble*|\
         v8::internal::JSNumberFormat::*",
    ),
    any(
        Chore::Growth,
        "realloc|__libc_realloc|_int_realloc|__GI___libc_realloc|reallocarray|__libc_reallocarray|\
         mremap_chunk|je_realloc|tc_realloc|mi_realloc*|_mi_heap_realloc*|__rust_realloc|\
         __rustc::__rust_realloc|__rustc::__rdl_realloc|\
         __rdl_realloc|<alloc::alloc::Global as *>::grow*",
    ),
    any(
        Chore::Growth,
        "std::vector<*>::_M_realloc_insert<*|std::vector<*>::_M_realloc_append<*|\
         std::vector<*>::_M_default_append*|std::vector<*>::_M_fill_insert*|\
         std::vector<*>::_M_insert_aux*|std::__cxx11::basic_string<*>::_M_mutate*|\
         std::deque<*>::_M_reallocate_map*|std::_Hashtable<*>::_M_rehash*|\
         std::vector<*>::_M_insert_overflow*|std::vector<*>::reserve*|std::vector<*>::_S_relocate*|\
         std::vector<*>::_M_allocate_and_copy*|std::__cxx11::basic_string<*>::reserve*|\
         std::__relocate_a*",
    ),
    any(
        Chore::Growth,
        "alloc::raw_vec::*grow*|alloc::raw_vec::*reserve*|\
         hashbrown::raw::RawTable*reserve_rehash*|hashbrown::raw::RawTable*resize*|\
         runtime.growslice*|runtime.hashGrow|runtime.growWork*|runtime.evacuate*|\
         internal/runtime/maps.(*table).grow|internal/runtime/maps.(*table).rehash|\
         internal/runtime/maps.(*table).split|internal/runtime/maps.(*Map).growTo*|\
         reflect.growslice|slices.Grow*|bytes.(*Buffer).grow|strings.(*Builder).grow",
    ),
    any(
        Chore::Growth,
        "java.util.Arrays.copyOf*|java.util.ArrayList.grow|java.util.ArrayDeque.grow|\
         java.util.HashMap.resize|java.util.IdentityHashMap.resize|java.util.Vector.grow|\
         java.util.concurrent.ConcurrentHashMap.transfer|java.util.PriorityQueue.grow|\
         java.lang.AbstractStringBuilder.ensureCapacityInternal|\
         java.io.ByteArrayOutputStream.ensureCapacity|Builtins_GrowFast*|\
         v8::internal::Runtime_GrowArrayElements*|v8::internal::OrderedHash*::Rehash*",
    ),
    python(
        Chore::Growth,
        "list_resize|_PyObject_Realloc|PyObject_Realloc|PyMem_Realloc|PyMem_RawRealloc|\
         dictresize|insertion_resize|set_table_resize|bytearray_resize*|PyByteArray_Resize",
    ),
    any(
        Chore::Hash,
        "std::_Hashtable<*|std::_Hash_bytes*|std::__detail::_Map_base<*|std::unordered_map<*|\
         std::unordered_set<*|std::_Rb_tree<*|std::map<*|std::set<*|\
         std::hash<*>::operator()*|absl::*container_internal::raw_hash_set<*|\
         folly::f14::*|boost::unordered::*|tsl::*|robin_hood::*|hsearch|hsearch_r|tsearch|\
         tfind|g_hash_table_*",
    ),
    any(
        Chore::Hash,
        "hashbrown::map::*|hashbrown::set::*|hashbrown::raw::RawTable<*|\
         hashbrown::raw::RawTableInner*|hashbrown::rustc_entry::*|\
         std::collections::hash::map::HashMap<*|std::collections::hash::set::HashSet<*|\
         core::hash::*|<core::hash::*|<std::hash::random::*|\
         <std::collections::hash::map::DefaultHasher *|\
         alloc::collections::btree::map::BTreeMap<*|alloc::collections::btree::search::*|\
         ahash::*|<ahash::*|rustc_hash::*|<rustc_hash::*|indexmap::*|dashmap::*",
    ),
    any(
        Chore::Hash,
        "runtime.mapaccess*|runtime.mapassign*|runtime.mapdelete*|runtime.aeshash*|\
         runtime.memhash*|runtime.strhash*|aeshashbody|runtime.nilinterhash|\
         internal/runtime/maps.(*Map)*|internal/runtime/maps.(*table)*|\
         internal/runtime/maps.ctrlGroup*",
    ),
    python(
        Chore::Hash,
        "dict_subscript|dict_ass_sub|dict___contains__|dict_get|dict_get_impl|dict_setdefault*|\
         PyDict_SetDefault|PyDict_GetItemWithError|PyDict_Contains|set_add|set_add_entry|\
         set_contains|set_contains_key|set_contains_entry|set_lookkey|unicode_hash|tuplehash|\
         tuple_hash|pysiphash|siphash13|siphash24",
    ),
    any(
        Chore::Hash,
        "java.util.HashMap.*|java.util.HashMap$TreeNode.*|java.util.HashSet.*|\
         java.util.TreeMap.*|java.util.TreeSet.*|java.util.LinkedHashMap.*|\
         java.util.IdentityHashMap.*|java.util.WeakHashMap.*|java.util.Hashtable.*|\
         java.util.concurrent.ConcurrentHashMap.*|java.util.concurrent.ConcurrentSkipList*|\
         java.lang.String*.hashCode|java.util.Objects.hash*|java.util.Arrays.hashCode|\
         Builtins_WeakMap*|Builtins_FindOrderedHash*|\
         Builtins_MapPrototypeGet|Builtins_MapPrototypeSet|Builtins_MapPrototypeHas|\
         Builtins_SetPrototypeHas|Builtins_SetPrototypeAdd|v8::internal::OrderedHash*",
    ),
    any(
        Chore::Allocate,
        "malloc|free|cfree|calloc|_int_malloc|_int_free|_int_free_*|__libc_malloc|__libc_malloc2|\
         __libc_free|__libc_calloc|__libc_calloc2|__GI___libc_malloc|__GI___libc_free|__malloc|\
         malloc_consolidate|unlink_chunk|sysmalloc|sysmalloc_mmap|systrim|tcache_*|\
         __libc_malloc_impl|posix_memalign|__posix_memalign|aligned_alloc|memalign|_mid_memalign|\
         _int_memalign|je_malloc|je_free|je_calloc|je_mallocx|je_sdallocx|je_arena_*|je_tcache_*|\
         tc_malloc|tc_free|tc_new*|tc_delete*|tcmalloc::*|mi_malloc*|mi_free*|mi_zalloc*|\
         mi_calloc*|mi_heap_malloc*|_mi_malloc_generic|_mi_page_*|_mi_free_*|mi_new*|\
         scudo_malloc|scudo_free|g_malloc|g_malloc0|g_free|g_slice_alloc*|g_slice_free*",
    ),
    any(
        Chore::Allocate,
        "operator new(*|operator new[](*|operator delete(*|operator delete[](*|operator new|\
         operator delete|__gnu_cxx::new_allocator<*>::allocate*|__gnu_cxx::new_allocator<*>::deallocate*|\
         std::__new_allocator<*>::allocate*|std::__new_allocator<*>::deallocate*|__rust_alloc*|\
         __rustc::__rust_alloc*|__rustc::__rust_dealloc|__rustc::__rdl_alloc*|\
         __rustc::__rdl_dealloc|\
         __rust_dealloc|__rdl_alloc*|__rdl_dealloc|__rg_alloc*|__rg_dealloc|alloc::alloc::*|\
         <alloc::alloc::Global as *|<std::alloc::System as *|runtime.mallocgc*|runtime.mallocTiny*|\
         runtime.newobject|runtime.newarray|runtime.makeslice*|runtime.makechan*|\
         runtime.convT*|runtime.rawstring*|runtime.rawbyteslice*|runtime.nextFree*|\
         runtime.(*mcache)*|runtime.(*mcentral)*|runtime.(*mspan).nextFree*|\
         runtime.(*mheap).alloc*|runtime.gcAssistAlloc*|runtime.deductAssistCredit*|\
         runtime.deductSweepCredit",
    ),
    any(
        Chore::Allocate,
        "OptoRuntime::new_*|Runtime1::new_*|InterpreterRuntime::*new*array*|\
         InterpreterRuntime::_new*|MemAllocator::*|CollectedHeap::*_allocate*|\
         InstanceKlass::allocate_*|TypeArrayKlass::allocate_*|ObjArrayKlass::allocate*|\
         *CollectedHeap::allocate_new_tlab*|*CollectedHeap::mem_allocate*|\
         v8::internal::Runtime_AllocateIn*",
    ),
    python(
        Chore::Allocate,
        "_PyObject_Malloc|_PyObject_Free|_PyObject_Calloc|PyObject_Malloc|PyObject_Free|\
         PyObject_Calloc|pymalloc_alloc|pymalloc_free|allocate_from_new_pool|\
         insert_to_usedpool|insert_to_freepool|address_in_range|arena_map_get|_PyMem_RawMalloc|\
         _PyMem_RawFree|PyMem_Malloc|PyMem_Free|PyObject_GC_Del|_PyObject_GC_New|\
         _PyObject_GC_NewVar|_PyObject_GC_Malloc|gc_alloc",
    ),
    any(
        Chore::Copy,
        "memcpy|memmove|mempcpy|bcopy|wmemcpy|__memcpy*|__memmove*|__mempcpy*|memcpy@*|strcpy|\
         strncpy|stpcpy|strcat|strncat|strlcpy|strlcat|__strcpy*|__strncpy*|__stpcpy*|\
         __strcat*|__strncat*",
    ),
    any(
        Chore::Copy,
        "std::__cxx11::basic_string<*>::_M_append*|std::__cxx11::basic_string<*>::append*|\
         std::__cxx11::basic_string<*>::_M_assign*|std::__cxx11::basic_string<*>::_M_replace*|\
         std::__cxx11::basic_string<*>::_M_construct*|std::__cxx11::basic_string<*>::_S_copy*|\
         std::operator+<char, *|std::__copy_move<*|std::__copy_move_a*|core::intrinsics::copy*|\
         core::ptr::copy*|alloc::string::String::push_str|alloc::vec::Vec<*>::extend_from_slice|\
         alloc::vec::Vec<*>::append_elements|alloc::slice::<impl [T]>::to_vec*|\
         alloc::slice::<impl [T]>::concat|alloc::slice::hack::to_vec|<[*]>::to_vec*|\
         <[*]>::concat*|<[*]>::join*|<[*]>::copy_from_slice|alloc::str::join_generic_copy|\
         <alloc::string::String as core::clone::Clone>::clone|\
         <alloc::vec::Vec<*> as core::clone::Clone>::clone|\
         core::slice::<impl [T]>::copy_from_slice|compiler_builtins::mem::*",
    ),
    any(
        Chore::Copy,
        "runtime.memmove|runtime.concatstring*|runtime.slicebytetostring|\
         runtime.stringtoslicebyte|runtime.typedmemmove|runtime.typedslicecopy|\
         runtime.bulkBarrierPreWrite*|runtime.wbMove|strings.Join|strings.Repeat|bytes.Join",
    ),
    any(
        Chore::Copy,
        "java.lang.AbstractStringBuilder.append*|java.lang.StringBuilder.append|\
         java.lang.StringBuilder.toString|java.lang.StringBuffer.append|java.lang.String.concat|\
         java.lang.String.join|java.lang.String.substring|java.lang.String.repeat|\
         java.lang.StringConcatHelper.*|java.lang.System.arraycopy|java.lang.StringLatin1.newString|\
         Builtins_StringAdd*|Builtins_StringPrototypeConcat|\
         Builtins_ArrayPrototypeJoin|Builtins_ArrayPrototypeConcat|Builtins_CopyFast*|\
         v8::internal::String::SlowFlatten*|v8::internal::String::WriteToFlat*|\
         v8::internal::Runtime_StringAdd*",
    ),
    python(
        Chore::Copy,
        "PyUnicode_Append|PyUnicode_Concat|unicode_concatenate|_PyUnicode_FastCopyCharacters|\
         PyUnicode_Substring|_PyUnicode_JoinArray|PyBytes_Concat|bytes_concat|list_slice|\
         list_concat|list_copy|list_extend|bytearray_iconcat",
    ),
];

/// What the words in the names of a program's own functions tell, where no library is known to be at
/// work: a thing and what is done to it, or one word that says both.
pub(super) struct Words {
    pub(super) chore: Chore,
    pub(super) things: &'static str,
    pub(super) deeds: &'static str,
    pub(super) both: &'static str,
}

/// Only kinds of work that programmers name alike. Source: names of such functions in jq, curl,
/// SQLite, Redis, git and the standard libraries of the languages above.
pub(super) const WORDS: &[Words] = &[
    Words {
        chore: Chore::Serialize,
        things: "json|xml|yaml|toml|csv|html|url|uri|hex|utf8|utf16|msgpack|cbor|bson|protobuf",
        deeds: "to|from|parse|parser|parses|parsing|encode|encoder|encodes|encoding|decode|decoder|\
                decodes|decoding|escape|escaped|escapes|unescape|quote|unquote|dump|dumps|loads|\
                stringify|tokenize|tokenizer|lexer|serialize|deserialize|write|writer|read|reader|\
                emit|append|format|print",
        both: "base64|b64|serialize|serializer|serialise|deserialize|deserializer|deserialise|\
               unserialize|marshal|marshaller|unmarshal|stringify|urlencode|urldecode|percentencode",
    },
    Words {
        chore: Chore::Dates,
        things: "date|dates|datetime|iso8601|rfc3339|rfc2822|timestamp|timestamps",
        deeds: "parse|parser|parses|parsing|format|formatter|formats|formatting|from|to",
        both: "strptime|strftime",
    },
];

/// Namespaces and modules that are no application code, so that a chore's caller is looked for
/// above them. Sources: the standard libraries' own names; OpenJDK 11 to 25 c1_Runtime1.cpp
/// (`name_for`) and opto/runtime.cpp (`generate`) for stubs of compiled code.
pub(super) const LIBRARY_NAMES: &str = "std::*|core::*|alloc::*|<std::*|<core::*|<alloc::*|\
__gnu_cxx::*|\
    hashbrown::*|<hashbrown::*|regex::*|<regex::*|regex_automata::*|<regex_automata::*|\
    serde::*|<serde::*|serde_core::*|chrono::*|<chrono::*|time::*|<time::*|boost::*|\
    runtime.*|internal/*|strings.*|bytes.*|strconv.*|fmt.*|time.*|encoding/*|regexp.*|\
    regexp/*|syscall.*|os.*|os/*|net.*|net/*|sync.*|sync/*|context.*|log.*|path/*|math.*|\
    math/*|hash/*|crypto/*|compress/*|container/*|text/*|sort.*|slices.*|maps.*|reflect.*|bufio.*|io.*|unicode.*|unicode/*|\
    java.*|javax.*|jdk.*|sun.*|com.sun.*|Interpreter|\
    call_stub*|StubRoutines*|I2C/C2I adapters*|vtable stub*|itable stub*|RuntimeStub *|\
    * Runtime1 stub|_new_*_Java|_multianewarray*_Java|_*_arraycopy_Java|_complete_monitor_*_Java|\
    LambdaForm*|* node:*|Builtins_*|Builtin:*|v8::*|icu_*|node::*|\
    _start|__libc_start*|clone|clone3|__clone3|start_thread|?";

/// Functions by which a runtime runs a program's own code again: loading ends there.
pub(super) const CALLS_BACK: &str = "_PyEval_EvalFrameDefault*|PyEval_EvalCode*|_PyEval_Vector|\
    JavaCalls::*|Builtins_JSEntry*|CallDescrWorker*";

/// Functions by which an exception begins its way up through the frames.
pub(super) const THROWS: &str = "__cxa_throw|__cxa_rethrow|_Unwind_RaiseException*|\
    _Unwind_Resume*|std::rethrow_exception*|std::__throw_*";

/// Library functions that sort: the small moves that they make are sorting.
pub(super) const SORTS: &str = "sort.*|slices.*ort*|qsort|qsort_r|__qsort_r|msort_with_tmp*|\
    std::sort<*|std::stable_sort<*|std::__introsort_loop<*|std::__final_insertion_sort<*|\
    std::__insertion_sort<*|std::__merge_*|std::__adjust_heap<*|core::slice::sort::*|\
    alloc::slice::stable_sort*|java.util.TimSort.*|java.util.ComparableTimSort.*|\
    java.util.DualPivotQuicksort.*|Builtins_ArrayTimSort*|Builtins_ArrayPrototypeSort*";

/// Functions by which a runtime runs code that has no name of its own on the stack, or is called to do
/// so: they are on the stack whatever a program does. CPython's evaluation loop and its ways of
/// calling, the JVM's and V8's interpreters, stubs and entries.
pub(super) const PLUMBING: &str = "_PyEval_*|PyEval_*|_PyRun_*|PyRun_*|run_eval_code_obj|run_mod|\
    pymain_*|pyrun_*|Py_RunMain|Py_BytesMain|Py_Main|_PyObject_MakeTpCall|_PyObject_Call*|\
    PyObject_Call*|_PyObject_Vectorcall*|PyObject_Vectorcall*|PyVectorcall_*|_PyVectorcall_*|\
    _PyFunction_Vectorcall|_PyStack_*|object_vacall|function_code_fastcall|cfunction_*|\
    method_vectorcall*|vectorcall_*|slot_tp_*|slot_*|type_call|property_descr_get|wrap_*|\
    builtin_exec*|builtin___build_class__|PyImport_*|import_name|import_find_and_load|\
    py_trampoline_evaluator|_Py_HandlePending|gen_send_ex*|gen_iternext|gen_send*|\
    Interpreter|call_stub*|StubRoutines*|I2C/C2I adapters*|vtable stub*|itable stub*|RuntimeStub *|\
    LambdaForm*|JavaMain|ThreadJavaMain|JavaCalls::*|jni_*|JavaThread::*|Thread::call_run*|\
    thread_native_entry*|thread_entry|JVM_DoPrivileged|InstanceKlass::call_class_initializer*|\
    Builtins_InterpreterEntryTrampoline*|Builtins_JSEntry*|Builtins_*Handler|BytecodeHandler:*|\
    Builtins_Call*|Builtins_Construct*|Builtins_JSConstruct*|Builtins_ArgumentsAdaptor*|\
    Builtins_AsyncFunction*|Builtins_RunMicrotasks*|Builtins_Promise*|Builtins_CEntry*|\
    Builtins_HandleApiCall*|node::*|v8::internal::Execution::*|\
    v8::internal::(anonymous namespace)::Invoke*|v8::Function::Call*|v8::Script::Run*|\
    v8::internal::MicrotaskQueue::*|v8::internal::Builtin_HandleApiCall*|uv_run|uv__*";

/// Functions in which a runtime's own threads work beside the program's.
pub(super) const WORKERS: &str = "runtime.gcBgMarkWorker*|runtime.bgsweep|runtime.bgscavenge|\
    node::*WorkerThread*|v8::platform::*WorkerThread*|GangWorker::*|WorkerThread::*|\
    CompilerThread::*|ConcurrentGCThread::*|CompileBroker::compiler_thread_loop*|VMThread::run*";

/// Modules that hold no application code.
pub(super) const LIBRARY_MODULES: [&str; 17] = [
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libm.so",
    "libm-",
    "libpython",
    "python",
    "libjvm",
    "libjli",
    "libjava.so",
    "libnio",
    "libnet.so",
    "libzip.so",
    "node",
    "libnode",
    "ld-linux",
    "ld-musl",
];
