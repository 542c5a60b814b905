/**
 * Lines of JavaScript or TypeScript in parts with colours: comments, strings, numbers and keywords. It is a scanner, not
 * a parser, so an odd regular expression can colour a line wrongly.
 */
import {HIGHLIGHT_CHARS_MAX} from '../../limits.ts';

export type Part = {readonly text: string; readonly kind: 'plain' | 'comment' | 'string' | 'literal' | 'keyword'};

const KEYWORDS =
  'as async await break case catch class const continue default delete do else export extends false finally for from ' +
  'function get if import in instanceof interface let new null of return set static super switch this throw true try ' +
  'type typeof undefined var void while with yield';
const TOKEN = new RegExp(
  [
    /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))/,
    /(?<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?)/,
    /(?<literal>\b\d[\w.]*\b)/,
    new RegExp(`(?<keyword>(?<![.\\w$])(?:${KEYWORDS.replaceAll(' ', '|')})(?![\\w$]))`),
  ]
    .map(({source}) => source)
    .join('|'),
  'g',
);

/** A longer text is one part per line. */
export function highlightedLines(text: string): Part[][] {
  if (text.length > HIGHLIGHT_CHARS_MAX) return text.split('\n').map(line => [{text: line, kind: 'plain'}]);
  const lines: Part[][] = [[]];
  const add = (part: string, kind: Part['kind']) => {
    for (const [i, line] of part.split('\n').entries()) {
      if (i > 0) lines.push([]);
      if (line !== '') lines.at(-1)!.push({text: line, kind});
    }
  };
  let end = 0;
  for (const {0: found, index, groups = {}} of text.matchAll(TOKEN)) {
    add(text.slice(end, index), 'plain');
    const [kind] = Object.entries(groups).find(([, value]) => value !== undefined)!;
    add(found, kind as Part['kind']);
    end = index + found.length;
  }
  add(text.slice(end), 'plain');
  return lines;
}
