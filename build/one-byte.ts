/**
 * V8 keeps the text of a script as long as it runs: in one byte for each character, but in two if a single one of them
 * is beyond Latin-1. esbuild escapes what is not ASCII in code, and leaves it in comments.
 */
import {transform} from 'esbuild';

/** The script with `?` for each character that is not ASCII, so lines and columns stay. @throws Error if one is in code */
export async function oneByte(name: string, script: string): Promise<string> {
  const replaced = script.replaceAll(/[^\u0000-\u007f]/g, '?');
  if (replaced === script) return script;
  const [before, after] = await Promise.allSettled([script, replaced].map(withoutComments));
  if (before!.status === 'fulfilled' && after!.status === 'fulfilled' && before!.value === after!.value)
    return replaced;
  throw new Error(`${name} has code that is not ASCII: write it with escapes`);
}

async function withoutComments(script: string): Promise<string> {
  const {code} = await transform(script, {minifyWhitespace: true, legalComments: 'none', charset: 'utf8'});
  return code;
}
