/**
 * Installs the global object of the default runtime. It restricts V8's globals (code from strings, shared memory, the
 * clock) and adds those of the web. Node's other globals are absent.
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

/** Called once per realm, before any user code. */
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

/** Called before each invocation: stops everything left from the one before. */
export function resetGlobals(): void {
  resetConsole();
  resetContextStores();
  resetMemory();
  resetTimers();
}
