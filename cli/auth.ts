/** `svc auth providers|check` shows a tenant's auth providers, and which check a token fails. */
import type {Command} from 'commander';
import type {AuthProviderView, TokenCheck} from '../shared/protocol/auth.ts';
import {ALL, listVerb, standardInput, subcommand} from './control.ts';
import {printable, printableJson} from './printable.ts';
import {ask, type TargetOptions} from './project/target.ts';

const EXIT_REFUSED = 1;
const SIGNS = {passed: 'ok  ', failed: 'FAIL', skipped: '-   '} as const;

export function register(program: Command): void {
  const auth = program.command('auth').description('auth providers of a tenant, and a check of tokens');
  listVerb(
    auth,
    'providers',
    ALL,
    async target => (await ask(target, 'auth.get', [])).providers,
    providerText,
    'provider',
  );
  subcommand<TargetOptions & {json?: true}>(
    auth,
    'check',
    'read a token from standard input, and say which check it fails',
    async (target, {json}) => {
      // Not an argument: other users of the machine can read command lines.
      const examined = await ask(target, 'auth.check', [], {body: {token: (await standardInput()).trim()}});
      const text = examined.checks.map(checkText).join('\n');
      process.stdout.write(`${json === true ? printableJson(JSON.stringify(examined)) : printable(text)}\n`);
      if (!examined.is_valid) process.exitCode = EXIT_REFUSED;
    },
    command => command.option('--json', 'as JSON, with header, claims and identity'),
  );
}

function providerText({type, issuer, application_id: id, algorithms, jwks}: AuthProviderView): string {
  const from = jwks.startsWith('data:') ? 'a data: URI' : jwks;
  return `${issuer}  ${type}  application ${id ?? 'any'}  ${algorithms.join(', ')}  keys from ${from}`;
}

function checkText({check, outcome, text, to_do}: TokenCheck): string {
  const line = `${SIGNS[outcome]}  ${check}${text === '' ? '' : `: ${text}`}`;
  return to_do === null ? line : `${line}\n      ${to_do}`;
}
