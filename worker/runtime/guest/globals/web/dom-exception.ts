/** `DOMException`: the errors of web interfaces, distinguished by name. */
import {define} from '../define.ts';

/** Indexed by legacy code; names without one have 0. */
const NAMES = [
  'IndexSizeError', '', 'HierarchyRequestError', 'WrongDocumentError', 'InvalidCharacterError', '',
  'NoModificationAllowedError', 'NotFoundError', 'NotSupportedError', 'InUseAttributeError', 'InvalidStateError',
  'SyntaxError', 'InvalidModificationError', 'NamespaceError', 'InvalidAccessError', '', 'TypeMismatchError',
  'SecurityError', 'NetworkError', 'AbortError', 'URLMismatchError', 'QuotaExceededError', 'TimeoutError',
  'InvalidNodeTypeError', 'DataCloneError',
]; // biome-ignore format: a table

export class DOMException extends Error {
  readonly #name: string;

  constructor(message: unknown = '', options: unknown = 'Error') {
    const isOptions = typeof options === 'object' && options !== null;
    const {name = 'Error', cause} = (isOptions ? options : {name: options}) as {name?: unknown; cause?: unknown};
    super(String(message), isOptions && 'cause' in options ? {cause} : undefined);
    this.#name = String(name);
  }

  override get name(): string {
    return this.#name;
  }

  get code(): number {
    return NAMES.indexOf(this.#name) + 1;
  }
}
define(DOMException.prototype, Symbol.toStringTag, 'DOMException');
for (const [i, name] of NAMES.entries()) {
  if (name === '') continue;
  const constant = `${name
    .replace(/Error$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase()}_ERR`;
  for (const target of [DOMException, DOMException.prototype]) {
    Object.defineProperty(target, constant, {value: i + 1, enumerable: true});
  }
}
