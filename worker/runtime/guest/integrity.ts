/**
 * Detects whether the built-ins of a realm are as its modules left them. A realm in which a call has changed them
 * serves no other caller. Variables of modules are not checked, and neither are globals that have a symbol as key or
 * are not enumerable.
 *
 *   sealed    queries and mutations: built-ins cannot be extended, removed or redefined, so only assignable members are
 *             compared before a call. They are not frozen: then instances and subclasses could not assign members of
 *             the same name, which libraries do all the time. Modules that are loaded later cannot patch by adding:
 *             the host loads such a realm again, with them.
 *   compared  actions, which load modules in the middle of a call: everything is compared, after the call.
 *   once      the realm serves one call only: nothing is done.
 *
 * This code uses nothing that user code could have changed, and runs no user code except getters of globals.
 */
import type {RealmUse} from './host-call.ts';

const {defineProperty, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, is, isExtensible, keys: keysOf, seal} = Object;
const {ownKeys} = Reflect;
const {isNaN: isNotANumber} = Number;
const {stringify} = JSON;
const {call} = Function.prototype;
const has = call.bind(WeakSet.prototype.has) as (set: WeakSet<object>, value: object) => boolean;
const add = call.bind(WeakSet.prototype.add) as (set: WeakSet<object>, value: object) => void;
/** User code can never reach it, see globals/code-generation.ts. */
const V8Function = Function;
/**
 * Comparisons after which the loop is unrolled, for busy realms: an unrolled comparison takes a tenth of the time once
 * V8 has optimised it, but more before.
 */
const UNROLL_AFTER = 500;
/** Makes seven functions: V8 has eight places for functions that wait to be optimised, and drops what finds none. */
const UNROLLED_TOGETHER = 128;

let use: RealmUse = 'once';
const seen = new WeakSet<object>();
/** Objects with relevant members, and functions that have only a name and a length. */
const containers: object[] = [];
const leaves: object[] = [];
let globalNames: readonly PropertyKey[] = [];

/**
 * The members to compare, in parallel arrays. For an accessor, `values` holds its getter; data members have no setter.
 */
const objects: object[] = [];
const keys: PropertyKey[] = [];
const values: unknown[] = [];
const setters: unknown[] = [];
/**
 * Number of globals made by assignment: built-in ones are not enumerable. Counting these costs a third of counting all.
 */
let globals = 0;
let globalPrototype: unknown = null;
/** For `compared`: objects whose key count and prototype are checked too. */
const shaped: object[] = [];
const counts: number[] = [];
const prototypes: unknown[] = [];

let isFixed = false;
let isCurrent = false;
let wasChanged = false;
let comparisons = 0;
let unrolled: (() => boolean) | null = null;

/**
 * Called once per realm, before any user code. @param hidden objects that no global leads to @param opaque objects that
 * are not inspected
 */
export function noteBuiltIns(realmUse: RealmUse, hidden: readonly object[], opaque: readonly object[]): void {
  use = realmUse;
  if (use === 'once') return;
  // User code sets it, and V8 reads it whenever a stack is made; a sealed object could not get it later.
  defineProperty(Error, 'prepareStackTrace', {value: undefined, writable: true, configurable: true, enumerable: false});
  for (let i = 0; i < opaque.length; i++) add(seen, opaque[i]!);
  globalNames = ownKeys(globalThis);
  add(seen, globalThis);
  for (let i = 0; i < globalNames.length; i++) noteProperty(globalThis, globalNames[i]!);
  for (let i = 0; i < hidden.length; i++) note(hidden[i]);
}

/** Registers a built-in that is made on first access, perhaps during a call. */
export function noteLate(value: unknown): void {
  if (use === 'once') return;
  const [container, leaf] = [containers.length, leaves.length];
  note(value);
  if (isCurrent) record(container, leaf);
}

/** Called before modules are evaluated: earlier changes by calls must not be attributed to the modules. */
export function beforeModules(): void {
  if (isCurrent && !isIntact()) wasChanged = true;
  isCurrent = false;
}

/** The state of the built-ins after the modules becomes the reference. */
export function afterModules(): void {
  if (use === 'once' || isCurrent) return;
  if (use === 'sealed' && !isFixed) fixAccessors();
  isFixed = true;
  objects.length = keys.length = values.length = setters.length = 0;
  shaped.length = counts.length = prototypes.length = 0;
  recordProperties(globalThis);
  record(0, 0);
  globals = keysOf(globalThis).length;
  globalPrototype = getPrototypeOf(globalThis);
  isCurrent = true;
}

/** Whether a global that is made on first access must stay its accessor. */
export function isFixedNow(): boolean {
  return isFixed;
}

/** A call replaced a global that is made on first access. */
export function noteChange(): void {
  wasChanged = true;
}

/** Replaces a built-in by another of ours, perhaps during a call. */
export function replaceBuiltIn(object: object, key: string, value: unknown): void {
  if (!isFixed) {
    defineProperty(object, key, {value, writable: true, configurable: true, enumerable: false});
    return;
  }
  for (let i = 0; i < objects.length; i++) {
    if (objects[i] !== object || keys[i] !== key) continue;
    if ((object as Record<string, unknown>)[key] !== values[i]) wasChanged = true;
    values[i] = value;
  }
  (object as Record<string, unknown>)[key] = value;
  unrolled = null;
}

/** Whether everything is as it was after the modules, if that state was recorded. */
export function isIntact(): boolean {
  if (wasChanged) return false;
  if (!isCurrent) return true;
  if (getPrototypeOf(globalThis) !== globalPrototype || keysOf(globalThis).length !== globals) return false;
  if (use === 'compared') return areSame();
  if (unrolled === null && ++comparisons > UNROLL_AFTER) unrolled = unroll();
  return unrolled === null ? areAssigned() : unrolled();
}

function note(value: unknown): void {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return;
  if (has(seen, value)) return;
  add(seen, value);
  const names = ownKeys(value);
  if (typeof value === 'function' && names.length === 2) {
    leaves[leaves.length] = value;
    return;
  }
  containers[containers.length] = value;
  note(getPrototypeOf(value));
  for (let i = 0; i < names.length; i++) noteProperty(value, names[i]!);
}

function noteProperty(object: object, key: PropertyKey): void {
  const property = getOwnPropertyDescriptor(object, key)!;
  if (hasOwn(property, 'value')) note(property.value);
  else {
    note(property.get);
    note(property.set);
  }
}

/** Records from these indexes of `containers` and `leaves` on. */
function record(container: number, leaf: number): void {
  unrolled = null;
  comparisons = 0;
  if (use === 'sealed') {
    for (let i = leaf; i < leaves.length; i++) seal(leaves[i]);
    for (let i = container; i < containers.length; i++) seal(containers[i]);
  } else {
    for (let i = leaf; i < leaves.length; i++) recordShape(leaves[i]!);
    for (let i = container; i < containers.length; i++) recordShape(containers[i]!);
  }
  for (let i = container; i < containers.length; i++) recordProperties(containers[i]!);
}

function recordShape(object: object): void {
  const at = shaped.length;
  shaped[at] = object;
  counts[at] = isExtensible(object) ? ownKeys(object).length : -1;
  prototypes[at] = getPrototypeOf(object);
}

function recordProperties(object: object): void {
  const names = ownKeys(object);
  for (let i = 0; i < names.length; i++) {
    const property = getOwnPropertyDescriptor(object, names[i]!)!;
    const isData = hasOwn(property, 'value');
    if (isData ? property.writable !== true : use === 'sealed') continue;
    const at = objects.length;
    objects[at] = object;
    keys[at] = names[i]!;
    values[at] = isData ? property.value : property.get;
    setters[at] = isData ? undefined : property.set;
  }
}

/** Makes the accessors of lazy globals fixed, because comparing their values would create them. */
function fixAccessors(): void {
  for (let i = 0; i < globalNames.length; i++) {
    const property = getOwnPropertyDescriptor(globalThis, globalNames[i]!);
    if (property === undefined || hasOwn(property, 'value')) continue;
    defineProperty(globalThis, globalNames[i]!, {configurable: false});
  }
}

function areAssigned(): boolean {
  for (let i = 0; i < objects.length; i++) {
    const value = (objects[i] as Record<PropertyKey, unknown>)[keys[i]!];
    // A value that is not equal to itself is NaN.
    if (value !== values[i] && !(isNotANumber(value) && isNotANumber(values[i]))) return false;
  }
  return true;
}

/**
 * Same as `areAssigned`. The text contains numbers, and names as literals, which V8 finds in half the time of keys in
 * variables.
 */
function unroll(): () => boolean {
  let constants = '';
  let groups = '';
  let result = '';
  for (let from = 0; from < objects.length; from += UNROLLED_TOGETHER) {
    let group = '';
    for (let i = from; i < objects.length && i < from + UNROLLED_TOGETHER; i++) {
      const key = keys[i]!;
      const isNamed = typeof key === 'string';
      constants += `const o${i}=O[${i}],v${i}=V[${i}]${isNamed ? '' : `,k${i}=K[${i}]`};`;
      const member = `o${i}[${isNamed ? stringify(key) : `k${i}`}]`;
      group += `${group === '' ? '' : '&&'}${isNotANumber(values[i]) ? `is(${member},v${i})` : `${member}===v${i}`}`;
    }
    groups += `const g${from}=()=>${group};`;
    result += `${result === '' ? '' : '&&'}g${from}()`;
  }
  const make = new V8Function('O', 'K', 'V', 'is', `${constants}${groups}return ()=>${result}`);
  return make(objects, keys, values, is) as () => boolean;
}

function areSame(): boolean {
  for (let i = 0; i < shaped.length; i++) {
    const object = shaped[i]!;
    if ((isExtensible(object) ? ownKeys(object).length : -1) !== counts[i]) return false;
    if (getPrototypeOf(object) !== prototypes[i]) return false;
  }
  for (let i = 0; i < objects.length; i++) {
    const property = getOwnPropertyDescriptor(objects[i]!, keys[i]!);
    if (property === undefined) return false;
    const isData = hasOwn(property, 'value');
    if (!is(isData ? property.value : property.get, values[i])) return false;
    if (isData ? property.writable !== true || setters[i] !== undefined : property.set !== setters[i]) return false;
  }
  return true;
}
