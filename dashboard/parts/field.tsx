/** A labelled control with its hint and what is wrong with its value. */
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import css from './field.module.css';

type Common = {label: string; hint?: ReactNode; fault?: string | null | undefined; isLabelHidden?: boolean};

function Around({
  label,
  hint,
  fault,
  isLabelHidden,
  children,
}: Common & {children(ids: {id: string; describedBy: string}): ReactNode}) {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={id} className={isLabelHidden ? css.unseen : css.label}>
        {label}
      </label>
      {children({id, describedBy: `${id}-hint`})}
      <p id={`${id}-hint`} className={fault ? css.fault : css.hint} hidden={!fault && hint === undefined}>
        {fault || hint}
      </p>
    </div>
  );
}

export function Field({label, hint, fault, isLabelHidden, ...rest}: Common & InputHTMLAttributes<HTMLInputElement>) {
  const common = {label, hint, fault, ...(isLabelHidden === undefined ? {} : {isLabelHidden})};
  return (
    <Around {...common}>
      {({id, describedBy}) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...rest}
          id={id}
          className={css.input}
          aria-describedby={describedBy}
          aria-invalid={Boolean(fault)}
        />
      )}
    </Around>
  );
}

/** A search whose label is not shown. The key `/` goes to the first of a page. */
export function SearchField({
  label,
  placeholder = label,
  value,
  onSearch,
}: {
  label: string;
  placeholder?: string;
  value: string;
  onSearch(text: string): void;
}) {
  return (
    <Field
      label={label}
      isLabelHidden
      type="search"
      placeholder={placeholder}
      value={value}
      onChange={event => onSearch(event.target.value)}
    />
  );
}

export function TextArea({
  label,
  hint,
  fault,
  isLabelHidden,
  ...rest
}: Common & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const common = {label, hint, fault, ...(isLabelHidden === undefined ? {} : {isLabelHidden})};
  return (
    <Around {...common}>
      {({id, describedBy}) => (
        <textarea
          rows={6}
          spellCheck={false}
          {...rest}
          id={id}
          className={[css.input, css.area].join(' ')}
          aria-describedby={describedBy}
          aria-invalid={Boolean(fault)}
        />
      )}
    </Around>
  );
}

export function Select({
  label,
  hint,
  fault,
  isLabelHidden,
  options,
  ...rest
}: Common & {options: readonly (readonly [value: string, text: string])[]} & SelectHTMLAttributes<HTMLSelectElement>) {
  const common = {label, hint, fault, ...(isLabelHidden === undefined ? {} : {isLabelHidden})};
  return (
    <Around {...common}>
      {({id, describedBy}) => (
        <select {...rest} id={id} className={css.input} aria-describedby={describedBy}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Around>
  );
}

export function Check({
  label,
  hint,
  ...rest
}: {label: ReactNode; hint?: ReactNode} & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className={css.check}>
      <input type="checkbox" {...rest} />
      <span>
        {label}
        {hint === undefined ? null : <span className={css.hint}> {hint}</span>}
      </span>
    </label>
  );
}
