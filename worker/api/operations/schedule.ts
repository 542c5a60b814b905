/** Handlers for scheduled jobs and crons. */

import {changeCron, checkCronName, createCron, deleteCron, runCronNow} from '../../../engine/scheduler/crons.ts';
import {cancelJob, scheduleJob} from '../../../engine/scheduler/jobs.ts';
import {parseListParameters} from '../../../engine/scheduler/list-page.ts';
import {rhythmOf} from '../../../engine/scheduler/ticks.ts';
import {checkedMutation} from '../../../engine/scheduler/work.ts';
import {decodeBody, wireType} from '../../../engine/wire-type.ts';
import {invalid} from '../../../shared/errors.ts';
import type {Operation} from '../../../shared/operations.ts';
import {CronEnvelope, CronPatchEnvelope, ScheduleEnvelope} from '../../../shared/protocol/schedule.ts';
import {change, done, type Handlers, read, written} from './answer.ts';

const scheduleBody = wireType(ScheduleEnvelope);
const cronBody = wireType(CronEnvelope);
const cronPatchBody = wireType(CronPatchEnvelope);

export const schedule: Handlers<Extract<Operation, `schedule.${string}` | `crons.${string}`>> = {
  'schedule.create': (request, tenant) => {
    const {run_after_ms: runAfterMs, mutation} = decodeBody(scheduleBody, request.body);
    const work = checkedMutation(mutation);
    return written(request, tenant, writer => `{"job_id":"${scheduleJob(writer, tenant.clock(), runAfterMs, work)}"}`);
  },
  'schedule.cancel': change((writer, params) => cancelJob(writer, params.job_id)),
  'schedule.list': read(({query}, {jobs}) => jobs.list(parseListParameters(query))),
  'schedule.get': read(({params}, {jobs}) => jobs.job(params.job_id)),
  'schedule.result': read(({params}, {jobs}) => jobs.result(params.job_id)),
  'schedule.all': read(({query}, {allWork}) => allWork.upcoming(parseListParameters(query))),
  'schedule.history': read(({query}, {allWork}) => allWork.past(parseListParameters(query))),
  'schedule.retry': (request, tenant) =>
    written(request, tenant, writer => {
      tenant.reader.inSnapshot();
      const work = tenant.jobs.failedWork(request.params.job_id);
      return `{"job_id":"${scheduleJob(writer, tenant.clock(), 0, work)}"}`;
    }),
  'crons.create': (request, tenant) => {
    const {name, schedule, mutation} = decodeBody(cronBody, request.body);
    checkCronName(name);
    const rhythm = rhythmOf(schedule);
    const work = checkedMutation(mutation);
    return written(
      request,
      tenant,
      done(writer => createCron(writer, tenant.clock(), name, rhythm, work)),
    );
  },
  'crons.list': read(({query}, {crons}) => crons.list(parseListParameters(query))),
  'crons.get': read(({params}, {crons}) => crons.cron(params.name)),
  'crons.next': read(({params, query}, {crons}) => crons.nextRuns(params.name, parseListParameters(query))),
  'crons.patch': (request, tenant) => {
    const {schedule, mutation, enabled: isEnabled} = decodeBody(cronPatchBody, request.body);
    if (schedule === undefined && mutation === undefined && isEnabled === undefined) {
      throw invalid('the body must have one or more of schedule, mutation, enabled');
    }
    const change = {
      ...(schedule === undefined ? {} : {rhythm: rhythmOf(schedule)}),
      ...(mutation === undefined ? {} : {mutation: checkedMutation(mutation)}),
      ...(isEnabled === undefined ? {} : {isEnabled}),
    };
    const {name} = request.params;
    return written(request, tenant, writer => `{"cron":${changeCron(writer, tenant.clock(), name, change)}}`);
  },
  'crons.run': (request, tenant) => {
    const {runJob} = tenant.functions;
    const {name} = request.params;
    return written(request, tenant, writer => `{"run":${runCronNow(writer, tenant.clock(), name, runJob)}}`);
  },
  'crons.history': read(({params, query}, {crons, cronRuns}) => {
    crons.cron(params.name); // throws if it does not exist
    return cronRuns.list(params.name, parseListParameters(query));
  }),
  'crons.delete': change((writer, params) => deleteCron(writer, params.name)),
};
