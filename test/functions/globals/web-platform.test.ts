import {afterAll, describe, expect, test} from 'vitest';
import {Sandbox} from './sandbox.ts';
import {CASES, HELPERS} from './web-platform-cases.ts';

const sandbox = new Sandbox();
afterAll(() => sandbox.close());

describe.each(Object.entries(CASES))('%s, as the standards say', (_, cases) => {
  test.each(Object.entries(cases))('%s', (_name, body) => {
    expect(sandbox.attack(body, {top: HELPERS})).toEqual({value: true});
  });
});
