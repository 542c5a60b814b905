/** Decodes a query string by its wire type. Unknown and repeated parameters are refused by name. */
import type {Static, TObject} from 'typebox';
import {checkWireType, type WireType} from '../../../engine/wire-type.ts';
import {invalid} from '../../../shared/errors.ts';

const INTEGER = /^-?\d{1,15}$/;

/** @param query raw, without `?`. @throws op.invalid_input 400 */
export function decodeQuery<T extends TObject>(type: WireType<T>, query: string): Static<T> {
  const {properties} = type().schema as {properties: Record<string, {type?: string}>};
  const parameters: Record<string, unknown> = {};
  for (const [name, text] of new URLSearchParams(query)) {
    const known = Object.hasOwn(properties, name) ? properties[name]! : null;
    if (known === null) {
      const shown = JSON.stringify(name.slice(0, 60));
      throw invalid(`there is no parameter ${shown}; those there are: ${Object.keys(properties).join(', ')}`);
    }
    if (Object.hasOwn(parameters, name)) throw invalid(`the parameter ${name} is given twice`);
    parameters[name] = readAs(known.type, text);
  }
  return checkWireType(type, parameters, 'the parameter ');
}

function readAs(type: string | undefined, text: string): unknown {
  if (type === 'integer') return INTEGER.test(text) ? Number(text) : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
