/**
 * `svc deploy` checks the project, bundles it and makes it the tenant's active deployment. Any failed step stops it.
 */
import {type Command, Option} from 'commander';
import {reportFailure} from './failure.ts';
import {push} from './project/push.ts';
import {addTargetOptions, requireTenant, type TargetOptions, withTarget} from './project/target.ts';
import {TYPECHECK_MODES, type TypecheckMode} from './project/typecheck.ts';

type Options = TargetOptions & {
  dryRun?: true;
  create?: true;
  json?: true;
  message?: string;
  typecheck: TypecheckMode;
};

export function register(program: Command): void {
  const command = program
    .command('deploy')
    .description('deploy the functions of a project to a tenant')
    .option('--create', 'make the tenant if it does not exist')
    .option('--dry-run', 'check everything, change nothing')
    .option('--message <text>', 'what the deploy is for; svc rollback --list shows it')
    .option('--json', 'print the deployment as JSON')
    .addOption(
      new Option('--typecheck <mode>', 'try: where TypeScript is installed in the project')
        .choices([...TYPECHECK_MODES])
        .default('try'),
    );
  addTargetOptions(command).action((options: Options) => reportFailure('svc deploy', () => deploy(options)));
}

function deploy(options: Options): Promise<void> {
  return withTarget(options, async target => {
    const {client, tenant} = target;
    const say = (text: string) => void process.stderr.write(`${text}\n`);
    if (options.create !== true) await requireTenant(target);
    else if (await client.createTenant(tenant)) say(`created tenant ${tenant}`);
    const {typecheck, message = null, dryRun = false} = options;
    const {deployment, functions, changes} = await push(target, {typecheck, message, dryRun}, say);
    for (const change of changes) say(change);
    if (options.json === true) process.stdout.write(`${JSON.stringify(deployment ?? {dry_run: true, functions})}\n`);
    else if (deployment === null)
      process.stdout.write(`a dry run: ${functions} functions could be deployed to ${tenant}\n`);
    else {
      process.stdout.write(
        `deployment ${deployment.id} of ${tenant} is active: ${functions} functions at ${client.url}/svc/${tenant}\n`,
      );
    }
  });
}
