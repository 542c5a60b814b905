/**
 * V8 keeps the text of a script as long as it runs: in one byte for each character, but in two if a single one of them
 * is beyond Latin-1. esbuild escapes what is not ASCII in names and strings, and leaves it in comments.
 */
import {transform} from 'esbuild';

/**
 * The script with `?` for each character that is not ASCII, so lines and columns stay.
 * @param script as esbuild writes it. @throws Error: there is one in a regular expression or a raw text
 */
export async function oneByte(name: string, script: string): Promise<string> {
  if (isAscii(script)) return script;
  const {code} = await transform(script, {minifyWhitespace: true, legalComments: 'none'});
  if (!isAscii(code)) throw new Error(`${name} has code that is not ASCII: write it with escapes`);
  return script.replaceAll(/[^\u0000-\u007f]/g, '?');
}

function isAscii(text: string): boolean {
  return !/[^\u0000-\u007f]/.test(text);
}
