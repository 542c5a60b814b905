#!/usr/bin/env node
/**
 * The svc command. The check of the Node version comes before anything else is loaded, so that a wrong one gets a sentence
 * instead of a stack trace from some package.
 */
import '../build/check-node.cjs';

const {run} = await import('./program.ts');
await run(process.argv);
