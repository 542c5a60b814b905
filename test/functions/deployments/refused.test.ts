import {describe, expect, test} from 'vitest';
import {firstOf, rounds} from '../../harness/nightly.ts';
import {errorsOf, SERVER, TenantDeployments, uploadOf} from './tenant-deployments.ts';

const OK = `${SERVER} export const f = query(() => null);`;
const router = (route: string) => `${SERVER}
  const http = httpRouter();
  const handler = httpAction(async () => new Response(null));
  ${route}
  export default http;`;
const schema = (tables: string) => `${SERVER} export default defineSchema(${tables});`;
const items = (fields: string, indexes = '') => schema(`{items: defineTable(${fields})${indexes}}`);
const auth = (provider: string) => `export default {providers: [${provider}]};`;

describe('a deploy is refused', () => {
  const refused: [what: string, files: Record<string, string>, says: string[]][] = [
    [
      'a module that throws',
      {'m.ts': 'export const a = 1;\nthrow new TypeError("my message");'},
      ['svc/m.ts:2 Uncaught TypeError: my message'],
    ],
    ['a throw that is no error', {'m.ts': 'export const a = 1; throw "text";'}, ['svc/m.ts Uncaught text']],
    [
      'a throw in a file that is imported',
      {
        'lib/x.ts': 'export const a = (null as never as {a: 1}).a;',
        'm.ts': 'export {a} from "./lib/x";',
        'n.ts': 'export {a} from "./lib/x";',
      },
      ["svc/lib/x.ts:1 Uncaught TypeError: Cannot read properties of null (reading 'a')"],
    ],
    [
      'a loop at load',
      {'m.ts': 'export const a = 1; for (;;) {}', 'n.ts': OK},
      ['svc/m.ts Loading the module took longer than 4 seconds'],
    ],
    [
      'allocations without end at load',
      {'m.ts': 'export const a: unknown[] = []; for (;;) a.push(new Array(1e6).fill(a.length));'},
      ['svc/m.ts JavaScript execution ran out of memory while the modules were loaded'],
    ],
    [
      'recursion without end at load',
      {'m.ts': 'export const f = (): number => f() + 1; f();'},
      ['svc/m.ts:1 Uncaught RangeError: Maximum call stack size exceeded'],
    ],
    [
      'an import cycle that leaves a validator undefined',
      {'m.ts': `${SERVER} export const f = query({args: {a: undefined as never}, handler: () => null});`},
      ["svc/m.ts:7 Uncaught Error: v.object(): field 'a' is undefined. This is often caused by circular imports"],
    ],
    [
      '[12] v.int64',
      {'m.ts': `${SERVER} export const a = (v as any).int64();`},
      ['svc/m.ts:7 Uncaught Error: v.int64() is not supported'],
    ],
    [
      'arguments that are no object',
      {'m.ts': `${SERVER} export const f = query({args: v.string() as never, handler: () => null});`},
      ['svc/m.ts:7 Uncaught Error: Args validator must be an object or any'],
    ],
    [
      'a name of a function that no path can have',
      {'m.ts': `${SERVER} export const $f = query(() => null);`},
      ['svc/m.ts $f is not a valid name of a function'],
    ],
    [
      'every fault of every module at once',
      {
        'a.ts': 'export {}; throw new Error("one");',
        'b.ts': 'export {}; throw new Error("two");',
        'schema.ts': 'export {}; throw new Error("three");',
        'auth.config.ts': 'export {}; throw new Error("four");',
      },
      [
        'svc/a.ts:1 Uncaught Error: one',
        'svc/b.ts:1 Uncaught Error: two',
        'svc/schema.ts:1 Uncaught Error: three',
        'svc/auth.config.ts:1 Uncaught Error: four',
      ],
    ],
    [
      'fetch at import',
      {'m.ts': 'export const a = fetch("http://a.example");\nawait a;'},
      ['svc/m.ts:1 Uncaught Error: fetch unsupported at import time'],
    ],

    ['svc/http without default export', {'http.ts': OK}, ['svc/http must have a default export']],
    [
      'svc/http that exports something else',
      {'http.ts': `${SERVER} export default query(() => null);`},
      ['The default export of svc/http is not a Router'],
    ],
    [
      'a route whose handler is a plain function',
      {'http.ts': router("http.route({path: '/x', method: 'GET', handler: (async () => new Response()) as never});")},
      ['httpAction'],
    ],
    [
      'a route without slash',
      {'http.ts': router("http.route({path: 'x', method: 'GET', handler});")},
      ['does not start with a /'],
    ],
    [
      'a route that was put into the tables with a method that none has',
      {'http.ts': router("http.exactRoutes.set('/x', new Map([['get', handler]]) as never);")},
      ['the route get /x: its method must be one of GET, POST, PUT, DELETE, OPTIONS, PATCH'],
    ],
    [
      'a prefix that was put into the tables without its end',
      {'http.ts': router("http.prefixRoutes.set('GET', new Map([['/x', handler]]));")},
      ['the route GET /x: a pathPrefix must end with a /'],
    ],
    [
      'a route twice',
      {'http.ts': router("for (const path of ['/x', '/x']) http.route({path, method: 'GET', handler});")},
      ["Path '/x' for method GET already in use"],
    ],

    [
      'a schema without default export',
      {'schema.ts': `${SERVER} export const schema = defineSchema({});`},
      ['Schema file missing default export'],
    ],
    ['a schema that is none', {'schema.ts': 'export default {tables: {}};'}, ["isn't a svc schema"]],
    [
      'a reserved table name',
      {'schema.ts': schema('{_items: defineTable({})}')},
      ['svc/schema.ts _items is an invalid table name'],
    ],
    [
      'a table name with a hyphen',
      {'schema.ts': schema("{'my-items': defineTable({})}")},
      ['svc/schema.ts my-items is an invalid table name'],
    ],
    [
      'a declared system field',
      {'schema.ts': items('{_id: v.string(), _updateTime: v.number()}')},
      ["svc/schema.ts:7 Uncaught Error: defineTable: '_id' is a system field"],
    ],
    [
      'an index without fields',
      {'schema.ts': items('{a: v.any()}', ".index('by_a', [] as never)")},
      ['svc/schema.ts the index items.by_a must have 1 to 16 fields'],
    ],
    [
      'an index of seventeen fields',
      {
        'schema.ts': items(
          `{${Array.from({length: 17}, (_, i) => `f${i}: v.any()`)}}`,
          `.index('by_a', ${JSON.stringify(Array.from({length: 17}, (_, i) => `f${i}`))} as never)`,
        ),
      },
      ['svc/schema.ts the index items.by_a must have 1 to 16 fields'],
    ],
    [
      'an index with a field twice',
      {'schema.ts': items('{a: v.any()}', ".index('by_a', ['a', 'a'] as never)")},
      ['svc/schema.ts Duplicate field a in the index items.by_a'],
    ],
    [
      'indexes with the same fields',
      {'schema.ts': items('{a: v.any()}', ".index('one', ['a']).index('two', ['a'])")},
      ['have the same fields'],
    ],
    [
      'indexes with one name',
      {'schema.ts': items('{a: v.any(), b: v.any()}', ".index('one', ['a']).index('one', ['b'])")},
      ['svc/schema.ts table items has two indexes with the name one'],
    ],
    [
      'a reserved index name',
      {'schema.ts': items('{a: v.any()}', ".index('by_id', ['a'])")},
      ['svc/schema.ts items.by_id cannot be an index'],
    ],
    [
      'an index name with a leading underscore',
      {'schema.ts': items('{a: v.any()}', ".index('_mine', ['a'])")},
      ['svc/schema.ts items._mine cannot be an index'],
    ],
    [
      'an index over _creationTime',
      {'schema.ts': items('{a: v.any()}', ".index('by_a', ['a', '_creationTime'] as never)")},
      ['svc/schema.ts the index items.by_a lists _creationTime'],
    ],
    [
      'an index over a field that cannot be',
      {'schema.ts': items('{a: v.object({b: v.string()})}', ".index('by_a', ['a.c'] as never)")},
      ['references the field a.c that does not exist'],
    ],
    [
      'thirty-three indexes',
      {
        'schema.ts': items(
          `{${Array.from({length: 33}, (_, i) => `f${i}: v.any()`)}}`,
          Array.from({length: 33}, (_, i) => `.index('by_${i}', ['f${i}'])`)
            .join('')
            .replaceAll("'by_", "'i"),
        ),
      },
      ['more than 32 indexes'],
    ],

    [
      'an auth config without providers',
      {'auth.config.ts': 'export default {};'},
      ['svc/auth.config must have a default export {providers: […]}'],
    ],
    [
      'a provider without audience',
      {'auth.config.ts': auth("{domain: 'https://a.example'}")},
      ['auth provider 1: applicationID must be a text'],
    ],
    [
      'a provider of an unknown type',
      {'auth.config.ts': auth("{domain: 'https://a.example', applicationID: 'a'}, {type: 'saml'}")},
      ['auth provider 2: type must be "customJwt"'],
    ],
    [
      'providers whose addresses are none',
      {
        'auth.config.ts': auth(
          `{domain: 'not a domain', applicationID: 'a'},
           {type: 'customJwt', issuer: 'https://', jwks: 'https://a.example/jwks', algorithm: 'RS256'},
           {type: 'customJwt', issuer: 'https://a.example', jwks: 'not a url', algorithm: 'RS256'},
           {type: 'customJwt', issuer: 'https://a.example', jwks: 'file:///etc/keys', algorithm: 'RS256'}`,
        ),
      },
      [
        "auth provider 1: domain must be the issuer's URL, like https://id.example.com; found not a domain",
        'auth provider 2: issuer must be a URL',
        'auth provider 3: jwks must be an http(s) URL or a data: URI; found not a url',
        'auth provider 4: jwks must be an http(s) URL',
      ],
    ],
    [
      'a provider with an algorithm that is not supported',
      {
        'auth.config.ts': auth(
          "{type: 'customJwt', issuer: 'https://a.example', jwks: 'https://a.example/jwks', algorithm: 'HS256'}",
        ),
      },
      ['algorithm must be "RS256" or "ES256"'],
    ],
    ['a provider that is null', {'auth.config.ts': auth('null')}, ['its providers are not all objects']],
    [
      'an auth config that reads what is not set',
      {'auth.config.ts': auth('{domain: process.env.MY_ISSUER, applicationID: process.env.MY_APP}')},
      [
        'Environment variable MY_ISSUER is used in auth config file but its value was not set',
        'Environment variable MY_APP is used',
      ],
    ],
  ];
  /** The others of each kind are nightly. */
  const some = refused.filter((_, n) => n % 2 === 0);
  test.each(rounds({commit: some, nightly: refused}))('for %s', async (_, files, expected) => {
    const tenant = new TenantDeployments();
    const errors = await errorsOf(tenant.deploy(files));
    const shown = errors.map(({message, file, line}) => `${file}${line === null ? '' : `:${line}`} ${message}`);
    expect(shown).toEqual(expected.map(text => expect.stringContaining(text)));
    expect(tenant.deployments.active).toBeNull();
  });

  test('for a module that tampers with what it exports, whatever it says', async () => {
    const tampered = ['null', '5', '[null]', '[5]', '[{}]', '[{"name": {"toString": 1}}]', '{', '[[]]'];
    const says = (text: string) => `JSON.stringify = () => ${JSON.stringify(text)};`;
    for (const text of firstOf(3, tampered)) {
      const tenant = new TenantDeployments();
      const errors = await errorsOf(tenant.deploy({'m.ts': `${OK}\n${says(text)}`}));
      expect(errors).toMatchObject([{file: 'svc/m.ts'}]);
    }
  });

  test('with errors of bounded number and length', async () => {
    const files = Object.fromEntries(
      Array.from({length: 120}, (_, i) => [`m${i}.ts`, `export const a = 1; throw new Error('x'.repeat(10_000));`]),
    );
    const errors = await errorsOf(new TenantDeployments().deploy(files));
    expect(errors).toHaveLength(100);
    expect(Math.max(...errors.map(({message}) => message.length))).toBe(4_000);
  });

  test('for a bundle that imports a file it does not have', async () => {
    const upload = await uploadOf({'m.ts': OK});
    const files = [{path: 'm.js', source: 'import "./gone.js";', sourceMap: 'no source map'}];
    const errors = await errorsOf(new TenantDeployments().upload({...upload, files}));
    expect(errors).toMatchObject([{file: 'svc/m', message: expect.stringContaining('gone.js')}]);
  });
});
