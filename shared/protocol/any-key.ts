/**
 * The key type of a record in a request's body. typebox turns a record of plain strings into the pattern `^.*$`, which
 * a key with a line break does not match, so the value of such a key would not be validated.
 */
import Type from 'typebox';

export const AnyKey = Type.String({pattern: '^[\\s\\S]*$'});
