/** All there is of `process` in functions. */
declare const process: {readonly env: Readonly<Record<string, string | undefined>>};
