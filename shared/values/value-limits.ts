/**
 * The limits of values, a part of `shared/limits.ts` (import them from there). They have their own file because clients
 * and apps' bundles also check values, and should not contain, or change with, every limit of the service.
 */
const KIB = 1024;

/** Levels of arrays and objects, including the outermost. Beyond: 400 op.invalid_input; the call fails. (design) */
export const NESTING_LEVELS_MAX = 64;
/**
 * Elements of an array and fields of an object in arguments. Documents and results are limited only by their size.
 * Beyond: the call fails. (reference 1.4)
 */
export const VALUE_ARRAY_ELEMENTS_MAX = 8_192;
export const VALUE_OBJECT_FIELDS_MAX = 1_024;
/** A key of an object in arguments, printable ASCII. Beyond: the call fails. (reference 1.4) */
export const VALUE_KEY_CHARS_MAX = 1_024;
/**
 * Names of fields declared in validators, of tables and of indexes. Beyond: the module fails to load. (reference 1.4)
 */
export const VALIDATOR_NAME_CHARS_MAX = 64;
/** A value that an error quotes. Beyond: it is cut. (reference 1.1) */
export const VALUE_SHOWN_CHARS_MAX = 16 * KIB;
