/**
 * The key type of a record in a request's body. typebox writes a record of plain strings as the pattern `^.*$`, which a key with a
 * line break does not match: what stands below such a key would not be checked.
 */
import Type from 'typebox';

export const AnyKey = Type.String({pattern: '^[\\s\\S]*$'});
