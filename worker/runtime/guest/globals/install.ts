/**
 * The global object of the default runtime: what V8 brings is narrowed (code from strings, shared memory, the clock), what
 * the web has is added, and what Node has beyond it is absent.
 */

import {resetTimers} from '../actions/timers.ts';
import {state} from '../state.ts';
import {createContextStores, resetContextStores} from './async-hooks.ts';
import {installCodeGeneration} from './code-generation.ts';
import {installConsole, resetConsole} from './console.ts';
import {cryptoGlobal} from './crypto.ts';
import {installDate} from './date.ts';
import {define, defineLazily} from './define.ts';
import {installPerformance} from './performance.ts';
import {installProcess} from './process.ts';
import {installMemory, resetMemory} from './shared-memory.ts';
import {installTimers} from './timers.ts';
import {installWeakReferences} from './weak-references.ts';
import {installWeb} from './web/install.ts';

/** Once a realm, before any user code. */
export function installGlobals(): void {
  define(globalThis, 'self', globalThis);
  define(Math, 'random', () => state.random());
  installCodeGeneration();
  installMemory();
  installWeakReferences();
  installDate();
  installPerformance();
  installConsole();
  installProcess();
  installTimers();
  installWeb();
  defineLazily('crypto', () => cryptoGlobal().crypto);
  defineLazily('Crypto', () => cryptoGlobal().Crypto);
  defineLazily('SubtleCrypto', () => cryptoGlobal().SubtleCrypto);
  defineLazily('CryptoKey', () => cryptoGlobal().CryptoKey);
  Object.defineProperty(globalThis, Symbol.for('svc.async_hooks'), {value: createContextStores()});
}

/** Before each invocation: nothing of the one before goes on. */
export function resetGlobals(): void {
  resetConsole();
  resetContextStores();
  resetMemory();
  resetTimers();
}
