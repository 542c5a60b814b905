/** What a value of outside input is, for the checks that are made by hand. */

export type Fields = Readonly<Record<string, unknown>>;

/** An object with members: no array, not null. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A whole number, 0 or more. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The members of a JSON object or array. @returns null: the text is neither */
export function objectIn(json: string): Fields | null {
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : null;
  } catch {
    return null;
  }
}
