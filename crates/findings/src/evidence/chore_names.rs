//! The names of library functions by chore: data that [`super::chores`] reads.
//!
//! `*` stands for any text, everything else must match from the first to the last character, so that
//! a program's own `parse_date_header` is none. C++ names have their arguments but no return type,
//! Rust names no hash. Rows for runtimes whose internal names are plain words hold in that runtime's
//! modules only.

use super::chores::Chore;

/// Where a row's names hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// In every module: names of the C library or with their language's namespace.
    Any,
    /// In CPython and its extension modules.
    Python,
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

/// The table. Sources: glibc 2.31 to 2.41 time/, string/, malloc/, posix/, stdio-common/; musl 1.2;
/// libstdc++ of GCC 10 to 14; Rust std 1.70 to 1.90 and the crates' own module names; Go 1.20 to 1.25
/// runtime and standard library; CPython 3.9 to 3.14 Modules/ and Objects/; OpenJDK's perf maps; V8's
/// builtins as Node.js 18 to 22 has them.
pub(super) const TABLE: &[Row] = &[
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
        "*java.time.format.DateTime*|*java.text.SimpleDateFormat.*|*java/time/format/DateTime*|\
         *java/text/SimpleDateFormat*|v8::internal::ParseDateTimeString*|\
         v8::internal::DateParser::*|v8::internal::JSDateTimeFormat::*|Builtin_DateParse*|\
         Builtin_DatePrototypeTo*",
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
         <str>::eq_ignore_ascii_case|<str>::make_ascii_*case|<[u8]>::*_ascii_*case|\
         <u8>::*_ascii_*case|<char>::to_*case|<char>::*_ascii_*case|\
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
        "*java.lang.String.toLowerCase*|*java.lang.String.toUpperCase*|\
         *java.lang.String.equalsIgnoreCase*|*java.lang.String.compareToIgnoreCase*|\
         *java.lang.String$CaseInsensitiveComparator*|*java.lang.StringLatin1.toLowerCase*|\
         *java.text.RuleBasedCollator*|Builtins_StringPrototypeToLowerCase*|\
         Builtins_StringPrototypeToUpperCase*|Builtins_StringToLowerCase*|\
         v8::internal::Intl::ConvertTo*|v8::internal::Intl::CompareStrings*",
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
         py::*:*/sre_parse.py|*java.util.regex.Pattern.compile*|\
         *java.util.regex.Pattern.<init>*|v8::internal::RegExpImpl::Compile*|\
         v8::internal::RegExpImpl::Irregexp*Prepare*|v8::internal::RegExp::Compile*|\
         v8::internal::RegExpCompiler::*|v8::internal::RegExpParser*",
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
         *com.fasterxml.jackson.*|*com.google.gson.*|*java.io.ObjectInputStream.*|\
         *java.io.ObjectOutputStream.*|*java.util.Base64$*|v8::internal::JsonParser<*|\
         v8::internal::JsonStringif*|v8::internal::Builtin_Json*|Builtin_Json*|\
         Builtins_Json*",
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
        "*java.util.Formatter.*|*java.text.DecimalFormat.*|*java.lang.Double.parseDouble*|\
         *jdk.internal.math.FloatingDecimal*|*jdk.internal.math.DoubleToDecimal*|\
         Builtins_NumberToString*|v8::internal::DoubleToCString*|v8::internal::StringToDouble*|\
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
         std::vector<*>::_M_insert_overflow*",
    ),
    any(
        Chore::Growth,
        "alloc::raw_vec::*grow*|alloc::raw_vec::*reserve*|\
         hashbrown::raw::RawTable*reserve_rehash*|hashbrown::raw::RawTable*resize*|\
         runtime.growslice*|runtime.hashGrow|runtime.growWork*|runtime.evacuate*|\
         internal/runtime/maps.(*table).grow|internal/runtime/maps.(*table).rehash",
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
        "*java.util.HashMap.*|*java.util.TreeMap.*|*java.util.LinkedHashMap.*|\
         *java.util.concurrent.ConcurrentHashMap.*|Builtins_FindOrderedHash*|\
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
         operator delete|__gnu_cxx::new_allocator<*|std::__new_allocator<*|__rust_alloc*|\
         __rustc::__rust_alloc*|__rustc::__rust_dealloc|__rustc::__rdl_alloc*|\
         __rustc::__rdl_dealloc|\
         __rust_dealloc|__rdl_alloc*|__rdl_dealloc|__rg_alloc*|__rg_dealloc|alloc::alloc::*|\
         <alloc::alloc::Global as *|<std::alloc::System as *|runtime.mallocgc*|runtime.newobject|\
         runtime.makeslice*|runtime.nextFree*|runtime.(*mcache)*|runtime.(*mcentral)*|\
         runtime.(*mheap).alloc*",
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
         runtime.stringtoslicebyte|runtime.typedmemmove|runtime.typedslicecopy|strings.Join|\
         strings.Repeat",
    ),
    python(
        Chore::Copy,
        "PyUnicode_Append|PyUnicode_Concat|unicode_concatenate|_PyUnicode_FastCopyCharacters|\
         PyUnicode_Substring|_PyUnicode_JoinArray|PyBytes_Concat|bytes_concat|list_slice|\
         list_concat|list_copy|list_extend|bytearray_iconcat",
    ),
];

/// Namespaces and modules that are no application code, so that a chore's caller is looked for
/// above them. Source: the standard libraries' own names.
pub(super) const LIBRARY_NAMES: &str = "std::*|core::*|alloc::*|<std::*|<core::*|<alloc::*|\
__gnu_cxx::*|\
    hashbrown::*|<hashbrown::*|regex::*|<regex::*|regex_automata::*|<regex_automata::*|\
    serde::*|<serde::*|serde_core::*|chrono::*|<chrono::*|time::*|<time::*|boost::*|\
    runtime.*|internal/*|strings.*|bytes.*|strconv.*|fmt.*|time.*|encoding/*|regexp.*|\
    regexp/*|sort.*|slices.*|maps.*|reflect.*|bufio.*|io.*|unicode.*|unicode/*|\
    java.*|void java.*|Builtins_*|v8::*|node::*|_start|__libc_start*|clone|clone3|__clone3|\
    start_thread|?";

/// Modules that hold no application code.
pub(super) const LIBRARY_MODULES: [&str; 12] = [
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libm.so",
    "libm-",
    "libpython",
    "python",
    "libjvm",
    "node",
    "libnode",
    "ld-linux",
    "ld-musl",
];
