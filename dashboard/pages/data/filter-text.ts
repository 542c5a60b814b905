/**
 * Filters as text: `amount > 100 and (status = "open" or status = "late")`. Parses to the filters of a query object and
 * writes filters as text that parses to the same filters.
 *
 *   filters  = branch, {"or", branch}      branch = term, {"and", term}      term = "(" filters ")" | test
 *   test     = field, ("=" | "!=" | "<" | "<=" | ">" | ">="), value
 *            | field, ["not"], "in", list | field, "starts with", text | field, "contains", value
 *            | field, "exists" | field, "is missing"
 */
import type {FilterClause, FilterOperator, FilterTest} from '../../../shared/protocol/queries.ts';
import {FILTER_OR_LEVELS} from './limits.ts';

/** A filter text that cannot be understood, with the position of the first character that does not fit. */
export class FilterTextError extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

type Token = {
  readonly kind: 'name' | 'word' | 'value' | 'operator' | 'mark' | 'end';
  readonly text: string;
  readonly at: number;
  readonly value?: unknown;
};

const COMPARISONS: Record<string, FilterOperator> = {
  '=': 'eq',
  '==': 'eq',
  '!=': 'neq',
  '<>': 'neq',
  '>': 'gt',
  '>=': 'gte',
  '<': 'lt',
  '<=': 'lte',
};
const SIGNS: Partial<Record<FilterOperator, string>> = {
  eq: '=',
  neq: '!=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  contains: 'contains',
  prefix: 'starts with',
  in: 'in',
  not_in: 'not in',
};
const WORDS = new Set(['and', 'or', 'not', 'in', 'starts', 'with', 'contains', 'exists', 'is', 'missing']);
const LITERALS = new Set(['true', 'false', 'null']);
const TIMES = new Set(['_creationTime', '_updateTime']);
const PLAIN_FIELD = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/;

/** @returns filters that must all match; none for an empty text @throws FilterTextError */
export function parseFilters(text: string): FilterClause[] {
  const tokens = tokensOf(text);
  if (tokens.length === 1) return [];
  const parser = new Parser(tokens);
  const filters = parser.filters();
  const rest = parser.next;
  if (rest.kind !== 'end') throw new FilterTextError(`expected "and", "or" or the end, not ${shown(rest)}`, rest.at);
  return filters;
}

/** The text of filters. */
export function filterText(filters: readonly FilterClause[]): string {
  const isAlone = filters.length === 1;
  return filters.map(filter => ('or' in filter ? orText(filter.or, isAlone) : testText(filter))).join(' and ');
}

function orText(branches: readonly (FilterClause | FilterClause[])[], isAlone: boolean): string {
  const texts = branches.map(branch => {
    const list = [branch].flat();
    return list.length === 1 && 'or' in list[0]! ? `(${filterText(list)})` : filterText(list);
  });
  return isAlone && texts.length > 1 ? texts.join(' or ') : `(${texts.join(' or ')})`;
}

function testText({field, op, value}: FilterTest): string {
  const name = fieldText(field);
  if (op === 'exists') return value === false ? `${name} is missing` : `${name} exists`;
  if (op === 'in' || op === 'not_in') {
    const list = (value as unknown[]).map(one => JSON.stringify(one)).join(', ');
    return `${name} ${SIGNS[op]} (${list})`;
  }
  const isTime = TIMES.has(field) && typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 8e15;
  return `${name} ${SIGNS[op]} ${isTime ? JSON.stringify(new Date(value).toISOString()) : JSON.stringify(value)}`;
}

export function fieldText(field: string): string {
  const isPlain = PLAIN_FIELD.test(field) && !WORDS.has(field.toLowerCase()) && !LITERALS.has(field);
  return isPlain ? field : `\`${field.replaceAll('`', '``')}\``;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get next(): Token {
    return this.#tokens[this.#at]!;
  }

  filters(): FilterClause[] {
    const start = this.next;
    const branches = [this.#branch()];
    while (this.#takes('or')) branches.push(this.#branch());
    const [first] = branches;
    if (branches.length === 1) return first!;
    const or = branches.map(branch => (branch.length === 1 ? branch[0]! : branch));
    if (levelsIn({or}) > FILTER_OR_LEVELS)
      throw new FilterTextError('"or" can be nested twice; write this condition with fewer levels', start.at);
    return [{or}];
  }

  #branch(): FilterClause[] {
    const terms = this.#term();
    while (this.#takes('and')) terms.push(...this.#term());
    return terms;
  }

  #term(): FilterClause[] {
    if (!this.#takes('(')) return [this.#test()];
    const filters = this.filters();
    this.#expect(')');
    return filters;
  }

  #test(): FilterTest {
    const name = this.next;
    if (name.kind !== 'name') throw new FilterTextError(`expected the name of a field, not ${shown(name)}`, name.at);
    this.#at++;
    const field = name.text;
    const token = this.next;
    if (token.kind === 'operator') {
      this.#at++;
      return {field, op: COMPARISONS[token.text]!, value: this.#value(field)};
    }
    if (this.#takes('exists')) return {field, op: 'exists', value: true};
    if (this.#takes('is')) {
      this.#expect('missing');
      return {field, op: 'exists', value: false};
    }
    if (this.#takes('contains')) return {field, op: 'contains', value: this.#value(field)};
    if (this.#takes('starts')) {
      this.#expect('with');
      const {at} = this.next;
      const value = this.#value('');
      if (typeof value !== 'string') throw new FilterTextError('"starts with" needs a text in quotes', at);
      return {field, op: 'prefix', value};
    }
    const isNot = this.#takes('not');
    if (this.#takes('in')) return {field, op: isNot ? 'not_in' : 'in', value: this.#list(field)};
    const expected = isNot ? '"in"' : '=, !=, <, <=, >, >=, "in", "starts with", "contains", "exists" or "is missing"';
    throw new FilterTextError(`expected ${expected} after ${field}, not ${shown(this.next)}`, this.next.at);
  }

  #list(field: string): unknown[] {
    this.#expect('(');
    if (this.#takes(')')) return [];
    const values = [this.#value(field)];
    while (this.#takes(',')) values.push(this.#value(field));
    this.#expect(')');
    return values;
  }

  #value(field: string): unknown {
    const token = this.next;
    if (token.kind === 'name') throw new FilterTextError(`put text in quotes: ${JSON.stringify(token.text)}`, token.at);
    if (token.kind !== 'value') throw new FilterTextError(`expected a value, not ${shown(token)}`, token.at);
    this.#at++;
    if (!TIMES.has(field) || typeof token.value !== 'string') return token.value;
    const time = Date.parse(token.value);
    if (Number.isNaN(time))
      throw new FilterTextError('a time is a number, or text such as "2026-01-31T09:00"', token.at);
    return time;
  }

  #takes(text: string): boolean {
    const {kind, text: found} = this.next;
    if (found !== text || (kind !== 'word' && kind !== 'mark')) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#takes(text))
      throw new FilterTextError(`expected ${JSON.stringify(text)}, not ${shown(this.next)}`, this.next.at);
  }
}

function levelsIn(filter: FilterClause | FilterClause[]): number {
  if (Array.isArray(filter)) return Math.max(0, ...filter.map(levelsIn));
  return 'or' in filter ? 1 + Math.max(0, ...filter.or.map(levelsIn)) : 0;
}

function shown({kind, text}: Token): string {
  return kind === 'end' ? 'the end' : JSON.stringify(text);
}

/** Names, words, quoted texts, numbers, and the signs of the grammar; arrays and objects are JSON. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const lexeme =
    /\s*(?:(`(?:[^`]|``)+`)|([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(==|!=|<>|<=|>=|[=<>])|([(),])|([[{]))/y;
  while (lexeme.lastIndex < text.length) {
    const from = lexeme.lastIndex;
    const found = lexeme.exec(text);
    if (found === null) {
      if (text.slice(from).trim() === '') break;
      const at = from + (text.slice(from).length - text.slice(from).trimStart().length);
      const isOpen = /["'`]/.test(text[at]!);
      throw new FilterTextError(isOpen ? 'this quote has no end' : `${JSON.stringify(text[at])} is not understood`, at);
    }
    const [whole, quotedName, name, quoted, number, operator, mark, open] = found;
    const at = from + whole.length - whole.trimStart().length;
    if (quotedName !== undefined) tokens.push({kind: 'name', text: quotedName.slice(1, -1).replaceAll('``', '`'), at});
    else if (name !== undefined) tokens.push(wordToken(name, at));
    else if (quoted !== undefined) tokens.push({kind: 'value', text: quoted, at, value: unquoted(quoted, at)});
    else if (number !== undefined) tokens.push({kind: 'value', text: number, at, value: Number(number)});
    else if (operator !== undefined) tokens.push({kind: 'operator', text: operator, at});
    else if (mark !== undefined) tokens.push({kind: 'mark', text: mark, at});
    else if (open !== undefined) {
      const json = jsonAt(text, at);
      tokens.push({kind: 'value', text: json, at, value: JSON.parse(json)});
      lexeme.lastIndex = at + json.length;
    }
  }
  return [...tokens, {kind: 'end', text: '', at: text.length}];
}

function wordToken(text: string, at: number): Token {
  const word = text.toLowerCase();
  if (WORDS.has(word)) return {kind: 'word', text: word, at};
  return LITERALS.has(text) ? {kind: 'value', text, at, value: JSON.parse(text)} : {kind: 'name', text, at};
}

function unquoted(quoted: string, at: number): string {
  const inside = quoted.slice(1, -1);
  const json = quoted[0] === '"' ? quoted : `"${inside.replaceAll("\\'", "'").replaceAll(/(?<!\\)"/g, '\\"')}"`;
  try {
    return JSON.parse(json) as string;
  } catch {
    throw new FilterTextError('this text has an escape that JSON does not have', at);
  }
}

/** The JSON array or object that begins here. */
function jsonAt(text: string, at: number): string {
  let depth = 0;
  let isText = false;
  for (let i = at; i < text.length; i++) {
    const char = text[i]!;
    if (isText && char === '\\') i++;
    else if (char === '"') isText = !isText;
    else if (!isText && /[[{]/.test(char)) depth++;
    else if (!isText && /[\]}]/.test(char) && --depth === 0) {
      const json = text.slice(at, i + 1);
      try {
        JSON.parse(json);
        return json;
      } catch {
        throw new FilterTextError('this is not JSON', at);
      }
    }
  }
  throw new FilterTextError('this array or object has no end', at);
}
