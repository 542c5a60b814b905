/** Scheduled jobs and crons. */
import type {Operation} from '../../shared/operations.ts';
import {CronEnvelope, ScheduleEnvelope} from '../../shared/protocol/schedule.ts';
import {checkCronName, createCron, deleteCron, intervalOf} from '../scheduler/crons.ts';
import {cancelJob, scheduleJob} from '../scheduler/jobs.ts';
import {parseListParameters} from '../scheduler/list-page.ts';
import {checkedMutation} from '../scheduler/work.ts';
import {decodeBody, wireType} from '../wire-type.ts';
import type {Handlers} from './answer.ts';
import {done, written} from './written.ts';

const scheduleBody = wireType(ScheduleEnvelope);
const cronBody = wireType(CronEnvelope);

export const schedule: Handlers<Extract<Operation, `schedule.${string}` | `crons.${string}`>> = {
  'schedule.create': (request, tenant) => {
    const {run_after_ms: runAfterMs, mutation} = decodeBody(scheduleBody, request.body);
    const work = checkedMutation(mutation);
    return written(request, tenant, writer => `{"job_id":"${scheduleJob(writer, tenant.clock(), runAfterMs, work)}"}`);
  },
  'schedule.cancel': (request, tenant) =>
    written(
      request,
      tenant,
      done(writer => cancelJob(writer, request.params.job_id)),
    ),
  'schedule.list': ({query}, {reader, jobs}) => {
    reader.inSnapshot();
    return jobs.list(parseListParameters(query));
  },
  'schedule.get': ({params}, {reader, jobs}) => {
    reader.inSnapshot();
    return jobs.job(params.job_id);
  },
  'schedule.result': ({params}, {reader, jobs}) => {
    reader.inSnapshot();
    return jobs.result(params.job_id);
  },
  'crons.create': (request, tenant) => {
    const {name, schedule, mutation} = decodeBody(cronBody, request.body);
    checkCronName(name);
    const intervalMs = intervalOf(schedule.seconds);
    const work = checkedMutation(mutation);
    return written(
      request,
      tenant,
      done(writer => createCron(writer, tenant.clock(), name, intervalMs, work)),
    );
  },
  'crons.list': ({query}, {reader, crons}) => {
    reader.inSnapshot();
    return crons.list(parseListParameters(query));
  },
  'crons.delete': (request, tenant) =>
    written(
      request,
      tenant,
      done(writer => deleteCron(writer, request.params.name)),
    ),
};
