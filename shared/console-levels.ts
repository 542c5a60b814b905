/** Levels of the lines that functions log with `console`; apart from their wire types, which no worker loads. */
export const CONSOLE_LEVELS = ['debug', 'log', 'info', 'warn', 'error'] as const;
export type ConsoleLevel = (typeof CONSOLE_LEVELS)[number];
