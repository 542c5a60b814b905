/** The examples of docs/services.md and docs/node.md: shell run as it stands against a fresh server, TypeScript checked and bundled. */
import {expect, onTestFinished, test} from 'vitest';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import {DocsProject, templateSettings} from '../harness/docs-project.ts';
import {sharedService} from '../harness/shared-service.ts';
import {runExamples} from './shell-examples.ts';

const service = await sharedService();

test('every shell example of docs/services.md succeeds, in their order', async () => {
  const stdout = await runExamples('services.md', service);
  for (const shown of [
    '"name":"clock"',
    '"state":"starting","desired_state":"running","restarts":0,"started_at":null,"last_exit":null',
    `"level":"info","line":"'hello' 'world'"`,
    '"line":"runs as process ',
    '"state":"stopped","desired_state":"stopped"',
    '"reason":"stopped","message":null',
    '"reason":"returned"',
    `"line":"'once'"`,
  ]) {
    expect(stdout).toContain(shown);
  }
});

/** What the page's service calls, which is the app's own. */
const MAIL = `import {v} from 'svc/values';
import {internalMutation, internalQuery} from './_generated/server';
export const waiting = internalQuery(async ctx => await ctx.db.query('mails').collect());
export const sent = internalMutation({args: {id: v.id('mails')}, handler: async (ctx, {id}) => { await ctx.db.delete(id); }});
`;

test('every TypeScript example of docs/services.md and docs/node.md fits its types and can be deployed', async () => {
  const settings = templateSettings('functions');
  settings.compilerOptions.types = ['node'];
  const project = new DocsProject(['services.md', 'node.md'], settings, ['typescript', '@typescript', '@types']);
  onTestFinished(() => project.remove());
  project.write('svc/mail.ts', MAIL);
  project.write('svc.json', '{"tenant": "docs"}');
  await generateCode(project.directory);
  expect(await project.typeErrors()).toBe('');
  expect((await bundleProject(project.directory)).modules).toEqual(['digest', 'mail', 'workers/mail']);
});
