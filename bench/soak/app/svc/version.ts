import {v} from 'svc/values';
import {query} from './_generated/server';

/** Replaced in the bundle, so that each deploy is of other code. */
const VERSION = 'soak-version-0';
/** Some code to hold, as a real module has. */
const TABLE = Array.from({length: 2_000}, (_, n) => ({n, text: `entry ${n}`}));

export const version = query({args: {}, handler: () => VERSION});

export const variable = query({args: {}, handler: () => process.env.SOAK ?? null});

export const entry = query({args: {n: v.number()}, handler: (_ctx, {n}) => TABLE[n]?.text ?? null});
