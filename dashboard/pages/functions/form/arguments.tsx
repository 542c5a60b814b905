/** The arguments of a run: a form made from the validator, or JSON. Each takes over what the other one held. */
import type {ValidatorJson} from '../../../../shared/values/validator.ts';
import {messageOf} from '../../../api/failure.ts';
import {Button} from '../../../parts/button.tsx';
import {TextArea} from '../../../parts/field.tsx';
import {type Draft, draftOf, exampleOf, faultOf, made} from './draft.ts';
import css from './form.module.css';
import {ValueField} from './value-field.tsx';

export type Arguments = {readonly mode: 'form'; readonly draft: Draft} | {readonly mode: 'json'; readonly text: string};

/** Null: nothing was declared. Only declared fields can become a form. */
type Declared = ValidatorJson | null;

function hasForm(validator: Declared): validator is ValidatorJson {
  return validator !== null && validator.type !== 'any';
}

export function firstArguments(validator: Declared): Arguments {
  return argumentsOf(validator, hasForm(validator) ? exampleOf(validator) : {});
}

export function argumentsOf(validator: Declared, value: unknown): Arguments {
  if (hasForm(validator)) return {mode: 'form', draft: draftOf(validator, value)};
  return {mode: 'json', text: JSON.stringify(value, null, 2)};
}

export type ReadArguments = {
  /** Undefined: the text or a field cannot be read. */
  readonly value: unknown;
  readonly faults: ReadonlyMap<string, string>;
};

export function readArguments(validator: Declared, args: Arguments): ReadArguments {
  if (args.mode === 'form') return made(validator!, args.draft);
  let value: unknown;
  try {
    value = JSON.parse(args.text);
  } catch (error) {
    return {value: undefined, faults: new Map([['', messageOf(error)]])};
  }
  const fault = faultOf(validator, value);
  return {value, faults: new Map(fault === null ? [] : [['', fault]])};
}

export function ArgumentsField({
  tenant,
  validator,
  args,
  read,
  onChange,
}: {
  tenant: string;
  validator: Declared;
  args: Arguments;
  read: ReadArguments;
  onChange(args: Arguments): void;
}) {
  const isForm = args.mode === 'form';
  const isReadable = read.value !== undefined;
  return (
    <section className={css.arguments} aria-label="Arguments">
      <header className={css.head}>
        <h3>Arguments</h3>
        {hasForm(validator) ? (
          <Button
            kind="quiet"
            disabled={!isReadable}
            title={isReadable ? undefined : 'Correct the marked field first: nothing is lost then'}
            onClick={() =>
              onChange(isForm ? {mode: 'json', text: jsonText(read.value)} : argumentsOf(validator, read.value))
            }
          >
            {isForm ? 'Edit as JSON' : 'Edit as a form'}
          </Button>
        ) : null}
      </header>
      {args.mode === 'json' ? (
        <TextArea
          label="Arguments (JSON)"
          isLabelHidden
          rows={Math.min(16, Math.max(4, args.text.split('\n').length))}
          value={args.text}
          fault={read.faults.get('')}
          onChange={event => onChange({mode: 'json', text: event.target.value})}
        />
      ) : isEmpty(args.draft) ? (
        <p className={css.muted}>This function takes no arguments.</p>
      ) : (
        <ValueField
          tenant={tenant}
          validator={validator!}
          draft={args.draft}
          label="Arguments"
          path=""
          faults={read.faults}
          onChange={draft => onChange({mode: 'form', draft})}
        />
      )}
    </section>
  );
}

function isEmpty(draft: Draft): boolean {
  return draft.kind === 'object' && draft.fields.size === 0 && Object.keys(draft.extra).length === 0;
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
