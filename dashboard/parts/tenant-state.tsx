/** The state of a tenant, and what it means. */
import type {AnswerOf} from '../../shared/operation-types.ts';
import {Badge, type Tone} from './badge.tsx';

export type TenantStatus = AnswerOf<'tenants.status'>['tenant'];
type State = TenantStatus['state'];

const STATES: Readonly<Record<State, readonly [text: string, tone: Tone, meaning: string]>> = {
  asleep: ['asleep', 'neutral', 'It has no process, and wakes with the next request or scheduled run'],
  waking: ['waking', 'accent', 'Its process starts'],
  awake: ['awake', 'good', 'It serves requests'],
  cool_down: ['cool-down', 'warn', 'Its process crashed repeatedly and is started again later'],
  paused: ['paused', 'warn', 'Its requests are refused until it is resumed'],
  damaged: ['damaged', 'bad', 'Its file cannot be opened: run svc verify'],
};

export const TENANT_STATES = Object.keys(STATES) as State[];

export function stateText(state: State): string {
  return STATES[state][0];
}

export function TenantState({state}: {state: State}) {
  const [text, tone, meaning] = STATES[state];
  return (
    <Badge tone={tone} title={meaning}>
      {text}
    </Badge>
  );
}
