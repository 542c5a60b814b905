/** Wire types of figures over time. GET /api/figures, GET /api/tenants/{tenant_id}/figures, …/functions/figures */
import Type, {type Static} from 'typebox';
import {FIGURE_FUNCTIONS_MAX, FIGURE_STEP_SECONDS_MIN, FIGURES_SECONDS_MAX} from '../limits.ts';

const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Quantile = Type.Union([Type.Number(), Type.Null()], {description: 'null: there were none'});

const counted = {
  errors: Type.Integer(),
  error_rate: Type.Number({description: '0 to 1'}),
  p50_ms: Quantile,
  p99_ms: Quantile,
};

export const FiguresQuery = Type.Object({
  from: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `epoch milliseconds; default an hour before to, at most ${FIGURES_SECONDS_MAX / 3600} hours before it`,
    }),
  ),
  to: Type.Optional(Type.Integer({minimum: 0, description: 'epoch milliseconds; default now'})),
  step: Type.Optional(
    Type.Integer({
      minimum: FIGURE_STEP_SECONDS_MIN,
      description: `seconds per point, a multiple of ${FIGURE_STEP_SECONDS_MIN}, the default`,
    }),
  ),
});
export const FunctionFiguresQuery = Type.Object({
  ...FiguresQuery.properties,
  function: Type.Optional(Type.String({description: 'only this one, with points'})),
});

export const FigurePoint = Type.Object({
  at: EpochMs,
  requests: Type.Integer({description: 'of a function: calls'}),
  ...counted,
  bytes_in: Type.Number(),
  bytes_out: Type.Number(),
  sockets: Type.Integer({description: 'most that were open at the end of a minute'}),
});
export type FigurePoint = Static<typeof FigurePoint>;

const range = {from: EpochMs, to: EpochMs, step_seconds: Type.Integer()};
const Points = Type.Array(FigurePoint, {description: 'oldest first; a time without traffic has none'});

export const Figures = Type.Object({...range, points: Points});
export type Figures = Static<typeof Figures>;

export const FunctionFigures = Type.Object({
  ...range,
  functions: Type.Array(Type.Object({name: Type.String(), calls: Type.Integer(), ...counted}), {
    description: `most calls first; beyond ${FIGURE_FUNCTIONS_MAX} of a minute they are one, \`other\``,
  }),
  points: Type.Union([Points, Type.Null()], {description: 'null unless the query names a function'}),
});
export type FunctionFigures = Static<typeof FunctionFigures>;
