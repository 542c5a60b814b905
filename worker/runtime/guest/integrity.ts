/**
 * Whether the built-ins of a realm are as its modules left them: a realm in which a call has changed them serves no other
 * caller. What modules keep in variables of their own is theirs, and so are globals under a symbol or not enumerable.
 *
 *   sealed    queries and mutations: nothing is added to built-ins, removed or redefined, so what is left to compare before
 *             a call is what can be assigned. They are not frozen: instances and subclasses could not assign members of the
 *             same name any more, which libraries do all the time. Modules that are loaded later cannot patch by adding:
 *             the host loads such a realm anew, with them.
 *   compared  actions, which load modules in the middle of a call: all is compared, after the call.
 *   once      serves nobody twice: nothing is done.
 *
 * Nothing here goes through what user code could have changed, and nothing runs code of users, getters of globals apart.
 */
import type {RealmUse} from './host-call.ts';

const {defineProperty, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, is, isExtensible, keys: keysOf, seal} = Object;
const {ownKeys} = Reflect;
const {isNaN: isNotANumber} = Number;
const {stringify} = JSON;
const {call} = Function.prototype;
const has = call.bind(WeakSet.prototype.has) as (set: WeakSet<object>, value: object) => boolean;
const add = call.bind(WeakSet.prototype.add) as (set: WeakSet<object>, value: object) => void;
/** User code never gets at it, see globals/code-generation.ts. */
const V8Function = Function;
/** Written out, a comparison takes a tenth of the loop's time once V8 has optimised it, and more before: for busy realms. */
const UNROLL_AFTER = 2_000;
const UNROLLED_TOGETHER = 64;

let use: RealmUse = 'once';
const seen = new WeakSet<object>();
/** Objects with members of interest, and functions that have a name and a length alone. */
const containers: object[] = [];
const leaves: object[] = [];
let globalNames: readonly PropertyKey[] = [];

/** What is compared, one array for each part. An accessor's `values` are its getters; those of data have no setter. */
const objects: object[] = [];
const keys: PropertyKey[] = [];
const values: unknown[] = [];
const setters: unknown[] = [];
/** Those that code made by assigning: built-in ones are not enumerable. Counting these costs a third of counting all. */
let globals = 0;
let globalPrototype: unknown = null;
/** `compared`: whose count of keys and prototype are looked at, too. */
const shaped: object[] = [];
const counts: number[] = [];
const prototypes: unknown[] = [];

let isFixed = false;
let isCurrent = false;
let wasChanged = false;
let comparisons = 0;
let unrolled: (() => boolean) | null = null;

/** Once a realm, before any user code. @param hidden what no global leads to @param opaque what is not to be looked into */
export function noteBuiltIns(realmUse: RealmUse, hidden: readonly object[], opaque: readonly object[]): void {
  use = realmUse;
  if (use === 'once') return;
  // Code sets it, and V8 asks for it whenever a stack is made; what is sealed has no room for it.
  defineProperty(Error, 'prepareStackTrace', {value: undefined, writable: true, configurable: true, enumerable: false});
  for (let i = 0; i < opaque.length; i++) add(seen, opaque[i]!);
  globalNames = ownKeys(globalThis);
  add(seen, globalThis);
  for (let i = 0; i < globalNames.length; i++) noteProperty(globalThis, globalNames[i]!);
  for (let i = 0; i < hidden.length; i++) note(hidden[i]);
}

/** A built-in that is made when it is first asked for, maybe by a call. */
export function noteLate(value: unknown): void {
  if (use === 'once') return;
  const [container, leaf] = [containers.length, leaves.length];
  note(value);
  if (isCurrent) record(container, leaf);
}

/** Modules are going to be evaluated: what calls changed before must not be taken for their doing. */
export function beforeModules(): void {
  if (isCurrent && !isIntact()) wasChanged = true;
  isCurrent = false;
}

/** What modules have made of the built-ins is how they stay. */
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

/** A global that is made late must stay the accessor that it is. */
export function isFixedNow(): boolean {
  return isFixed;
}

/** A call replaced a global that is made late. */
export function noteChange(): void {
  wasChanged = true;
}

/** Replaces a built-in by another of ours, maybe in the middle of a call. */
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

/** All is as it was after the modules, if it was looked at then. */
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

/** From the places in `containers` and `leaves` on. */
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

/** Globals that are made late would be asked for by comparing them. */
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
    // What is not equal to itself is NaN.
    if (value !== values[i] && !(isNotANumber(value) && isNotANumber(values[i]))) return false;
  }
  return true;
}

/** As `areAssigned`. The text is made of numbers and of names as literals, which V8 finds in half the time of keys in variables. */
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
