/** Reads references to functions that a function passes, and encodes the arguments for them. */
import {encodeValue} from '../../../shared/values/wire-value.ts';

/** The sdk puts the path here; the realm does not import the sdk. */
const FUNCTION_NAME = Symbol.for('svc.functionName');

/** @param reference `api.a.b.f`, or the path itself. @throws for anything else, in particular a registered function */
export function functionPath(reference: unknown): string {
  if (typeof reference === 'string') return reference;
  if ((typeof reference === 'object' && reference !== null) || typeof reference === 'function') {
    if ((reference as {isSvcFunction?: unknown}).isSvcFunction !== true) {
      const path = (reference as {[FUNCTION_NAME]?: unknown})[FUNCTION_NAME];
      if (typeof path === 'string') return path;
    }
  }
  throw new Error(
    `${shown(reference)} is not a functionReference: pass one like \`api.file.func\` or \`internal.file.func\``,
  );
}

/** The arguments as wire text; no arguments become `{}`. */
export function encodeArguments(args: unknown): string {
  if (args === undefined) return '{}';
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new Error(`The arguments to a function must be an object, received: ${shown(args)}`);
  }
  return encodeValue(args);
}

function shown(value: unknown): string {
  if (typeof value === 'function') {
    return (value as {isSvcFunction?: unknown}).isSvcFunction === true
      ? 'a registered function'
      : `function ${value.name}`;
  }
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value);
}
