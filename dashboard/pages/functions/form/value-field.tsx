/** One value of a form, made from its validator: a field, or a group of fields. Faults stand beside their field. */
import {type ReactNode, useId} from 'react';
import {pathStep} from '../../../../shared/values/show-value.ts';
import type {ValidatorJson} from '../../../../shared/values/validator.ts';
import {Button} from '../../../parts/button.tsx';
import {Check, Field, Select, TextArea} from '../../../parts/field.tsx';
import {typeText} from '../validators.ts';
import {type Draft, draftOf, exampleOf, itemOf, type ObjectValidator, shortFault} from './draft.ts';
import css from './form.module.css';
import {IdField} from './id-field.tsx';

export type ValueProps = {
  readonly tenant: string;
  readonly validator: ValidatorJson;
  readonly draft: Draft;
  readonly label: string;
  /** As faults name it; '' for the whole value. */
  readonly path: string;
  readonly faults: ReadonlyMap<string, string>;
  onChange(draft: Draft): void;
  /** Of an optional field or an element: takes it away. */
  readonly onRemove?: (() => void) | undefined;
};

export function ValueField(props: ValueProps) {
  const {tenant, validator, draft, label, path, faults, onChange} = props;
  const found = faults.get(path);
  const fault = found === undefined ? null : shortFault(found);
  // Before anything is typed there is no mistake.
  const isEmpty = (draft.kind === 'text' || draft.kind === 'number') && draft.text === '';
  const said = isEmpty && fault !== null ? {fault: null, hint: fault} : {fault};
  if (validator.type === 'union') return <UnionField {...props} fault={fault} />;
  switch (draft.kind) {
    case 'text': {
      const common = {
        label,
        ...said,
        value: draft.text,
        onChange: (event: {target: {value: string}}) => onChange({kind: 'text', text: event.target.value}),
      };
      if (validator.type !== 'id') return row(props, <TextArea {...common} rows={1} />);
      const set = (text: string) => onChange({kind: 'text', text});
      return row(props, <IdField {...common} tenant={tenant} table={validator.tableName} onChange={set} />);
    }
    case 'number':
      return row(
        props,
        <Field
          label={label}
          {...said}
          inputMode="decimal"
          value={draft.text}
          onChange={event => onChange({kind: 'number', text: event.target.value})}
        />,
      );
    case 'boolean':
      return row(
        props,
        <Check
          label={label}
          checked={draft.is}
          onChange={event => onChange({kind: 'boolean', is: event.target.checked})}
        />,
      );
    case 'fixed':
      return row(
        props,
        <div className={css.fixed}>
          <span className={css.label}>{label}</span>
          <code>{typeText(validator)}</code>
        </div>,
      );
    case 'array':
      return <ArrayField {...props} draft={draft} fault={fault} />;
    case 'object':
      return (
        <Group {...props} fault={fault}>
          <ObjectFields {...props} draft={draft} />
        </Group>
      );
    default:
      return <JsonField {...props} fault={fault} />;
  }
}

/** A field with the button that takes it away, if it can be. */
function row({label, onRemove}: ValueProps, field: ReactNode) {
  return (
    <div className={css.row}>
      <div className={css.grows}>{field}</div>
      {onRemove === undefined ? null : <RemoveButton label={label} onRemove={onRemove} />}
    </div>
  );
}

function RemoveButton({label, onRemove}: {label: string; onRemove(): void}) {
  return (
    <Button kind="quiet" icon="close" aria-label={`Remove ${label}`} title={`Remove ${label}`} onClick={onRemove} />
  );
}

function Group({label, path, fault, onRemove, children}: ValueProps & {fault: string | null; children: ReactNode}) {
  const id = useId();
  // The arguments themselves are the form.
  if (path === '') {
    return (
      <div className={css.fields}>
        {children}
        {fault === null ? null : <p className={css.fault}>{fault}</p>}
      </div>
    );
  }
  return (
    <fieldset className={css.group} aria-describedby={fault === null ? undefined : id}>
      <legend className={css.legend}>
        {label}
        {onRemove === undefined ? null : <RemoveButton label={label} onRemove={onRemove} />}
      </legend>
      {children}
      {fault === null ? null : (
        <p id={id} className={css.fault}>
          {fault}
        </p>
      )}
    </fieldset>
  );
}

/** The fields of an object, the declared ones first, then what else a value brought along. */
function ObjectFields(props: ValueProps & {draft: Extract<Draft, {kind: 'object'}>}) {
  const {draft, path, faults, onChange} = props;
  const validator = props.validator as ObjectValidator;
  const put = (name: string, field: Draft | null) =>
    onChange({...draft, fields: new Map([...draft.fields, [name, field]])});
  const declared = Object.entries(validator.value);
  const absent = declared.filter(([name]) => (draft.fields.get(name) ?? null) === null);
  const extra = Object.keys(draft.extra);
  return (
    <>
      {declared.map(([name, {fieldType, optional}]) => {
        const field = draft.fields.get(name) ?? null;
        if (field === null) return null;
        return (
          <ValueField
            {...props}
            key={name}
            validator={fieldType}
            draft={field}
            label={name}
            path={path + pathStep(name)}
            onChange={changed => put(name, changed)}
            onRemove={optional ? () => put(name, null) : undefined}
          />
        );
      })}
      {absent.length === 0 ? null : (
        <div className={css.absent}>
          {absent.map(([name, {fieldType, optional}]) => {
            const fault = faults.get(path + pathStep(name));
            return (
              <div key={name}>
                <Button
                  kind="quiet"
                  icon="plus"
                  title={optional ? `${name} is optional` : `${name} is required`}
                  onClick={() => put(name, draftOf(fieldType, exampleOf(fieldType)))}
                >
                  {name}
                </Button>
                {optional || fault === undefined ? null : <p className={css.fault}>{fault}</p>}
              </div>
            );
          })}
        </div>
      )}
      {extra.length === 0 ? null : (
        <div>
          <Button kind="quiet" icon="close" onClick={() => onChange({...draft, extra: {}})}>
            {`Remove ${extra.join(', ')}`}
          </Button>
        </div>
      )}
    </>
  );
}

function ArrayField(props: ValueProps & {draft: Extract<Draft, {kind: 'array'}>; fault: string | null}) {
  const {draft, label, path, onChange} = props;
  const {value: element} = props.validator as Extract<ValidatorJson, {type: 'array'}>;
  const {items} = draft;
  return (
    <Group {...props}>
      {items.map(({key, draft: item}, i) => (
        <ValueField
          {...props}
          key={key}
          validator={element}
          draft={item}
          label={`${label} ${i + 1}`}
          path={path + pathStep(i)}
          onChange={changed =>
            onChange({kind: 'array', items: items.map(one => (one.key === key ? {key, draft: changed} : one))})
          }
          onRemove={() => onChange({kind: 'array', items: items.filter(one => one.key !== key)})}
        />
      ))}
      <div>
        <Button
          icon="plus"
          kind="quiet"
          onClick={() => onChange({kind: 'array', items: [...items, itemOf(draftOf(element, exampleOf(element)))]})}
        >
          {`Add to ${label}`}
        </Button>
      </div>
    </Group>
  );
}

const AS_JSON = 'json';

/** Which of the validators, then the value of that one. */
function UnionField(props: ValueProps & {fault: string | null}) {
  const {draft, label, fault, onChange} = props;
  const members = (props.validator as Extract<ValidatorJson, {type: 'union'}>).value;
  const chosen = draft.kind === 'union' ? members[draft.chosen]! : null;
  const options = members.map((member, i) => [String(i), typeText(member).replace(/\s+/g, ' ')] as const);
  const choice = (
    <Select
      label={label}
      value={draft.kind === 'union' ? String(draft.chosen) : AS_JSON}
      options={chosen === null ? [[AS_JSON, 'other JSON'], ...options] : options}
      onChange={event => {
        const i = Number(event.target.value);
        const member = members[i];
        if (member === undefined) return;
        onChange({kind: 'union', chosen: i, draft: draftOf(member, exampleOf(member))});
      }}
    />
  );
  const {onRemove, ...rest} = props;
  return (
    <div className={css.union}>
      {row(props, choice)}
      {draft.kind !== 'union' || chosen === null ? (
        <JsonField {...rest} fault={fault} />
      ) : draft.draft.kind === 'fixed' ? null : (
        <ValueField
          {...rest}
          validator={chosen}
          draft={draft.draft}
          label={`${label}: ${chosen.type}`}
          onChange={changed => onChange({...draft, draft: changed})}
        />
      )}
    </div>
  );
}

/** Any value, and what does not fit its validator: as JSON. */
function JsonField(props: ValueProps & {fault: string | null}) {
  const {validator, draft, label, fault, onChange} = props;
  const text = draft.kind === 'json' ? draft.text : '';
  const isAny = validator.type === 'any';
  return row(
    props,
    <>
      <TextArea
        label={isAny ? `${label} (JSON)` : label}
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        value={text}
        fault={fault}
        onChange={event => onChange({kind: 'json', text: event.target.value})}
      />
      {isAny ? null : (
        <Button kind="quiet" onClick={() => onChange(draftOf(validator, exampleOf(validator)))}>
          {`Replace by ${validator.type === 'union' ? 'a valid value' : `a value of type ${validator.type}`}`}
        </Button>
      )}
    </>,
  );
}
