#!/usr/bin/env node
/**
 * The svc command. It checks the Node version before anything else is loaded, so that an unsupported one gets a
 * sentence instead of a stack trace from some package.
 */
import '../build/check-node.cjs';

const {run} = await import('./program.ts');
await run(process.argv);
