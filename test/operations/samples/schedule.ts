/** Jobs and crons. */
import type {App} from '../../functions/app.ts';
import {cron, FAILS, finished, INSERT, MINUTES, schedule} from './filled.ts';
import {samples} from './sample.ts';

/** @param app one that is `filled` */
export function scheduleSamples(app: App) {
  const unknownJob = {params: {job_id: 'none'}, code: 'op.not_found'} as const;
  const unknownCron = {params: {name: 'none'}, code: 'op.not_found'} as const;
  return samples({
    'schedule.create': {
      succeeds: [{body: {run_after_ms: MINUTES, mutation: INSERT}}],
      refused: {body: {run_after_ms: 0, mutation: {type: 'delete', table: '1', id: 'x'}}, code: 'op.invalid_input'},
    },
    'schedule.list': {
      succeeds: [{}, {query: 'limit=1'}, {query: 'limit=1000'}],
      refused: {query: 'limit=0', code: 'op.invalid_input'},
    },
    'schedule.get': {
      succeeds: [async () => ({params: {job_id: await schedule(app, MINUTES)}})],
      refused: unknownJob,
    },
    'schedule.cancel': {
      succeeds: [async () => ({params: {job_id: await schedule(app, MINUTES)}})],
      refused: unknownJob,
    },
    'schedule.result': {
      succeeds: [
        async () => ({params: {job_id: await finished(app, await schedule(app, 0))}}),
        async () => ({
          params: {job_id: await finished(app, await schedule(app, 0, FAILS))},
        }),
      ],
      refused: unknownJob,
    },
    'schedule.retry': {
      succeeds: [async () => ({params: {job_id: await finished(app, await schedule(app, 0, FAILS))}})],
      refused: unknownJob,
    },
    'schedule.all': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'schedule.history': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'crons.create': {succeeds: [{body: cron('new')}], refused: {body: cron('good'), code: 'op.conflict'}},
    'crons.list': {succeeds: [{}, {query: 'limit=1'}], refused: {query: 'after=!', code: 'op.invalid_input'}},
    'crons.get': {succeeds: [{params: {name: 'good'}}], refused: unknownCron},
    'crons.next': {
      succeeds: [{params: {name: 'good'}}, {params: {name: 'good'}, query: 'limit=2'}],
      refused: unknownCron,
    },
    'crons.patch': {
      succeeds: [
        {params: {name: 'good'}, body: {enabled: false}},
        {
          params: {name: 'good'},
          body: {
            schedule: {type: 'cron', expression: '0 4 * * 1', time_zone: 'Europe/Oslo'},
            mutation: INSERT,
            enabled: true,
          },
        },
      ],
      refused: {...unknownCron, body: {enabled: true}},
    },
    'crons.run': {succeeds: [{params: {name: 'good'}}], refused: unknownCron},
    'crons.history': {
      succeeds: [{params: {name: 'good'}}, {params: {name: 'good'}, query: 'limit=1'}],
      refused: unknownCron,
    },
    'crons.delete': {
      succeeds: [{params: {name: 'later'}}],
      refused: {params: {name: 'none'}, code: 'op.not_found'},
    },
  });
}
