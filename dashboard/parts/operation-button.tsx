/**
 * A button that carries out an operation: it shows that it works, says how it ended, and asks before what cannot be
 * undone. Without the right to the operation it is disabled and says which scope is missing.
 */
import {type ReactNode, useState} from 'react';
import type {SuccessOf} from '../../shared/operation-types.ts';
import type {AnyOperation, Input} from '../api/client.ts';
import {messageOf} from '../api/failure.ts';
import {useChange} from '../api/queries.ts';
import {missingScopes, useSession} from '../api/session.ts';
import {Button, type ButtonKind} from './button.tsx';
import {ConfirmDialog} from './confirm.tsx';
import type {IconName} from './icon.tsx';
import {showToast} from './toast.tsx';

export type Question = {
  title: string;
  text: ReactNode;
  /** Has to be typed before the action is possible. */
  name?: string;
};

type OperationButtonProps<O extends AnyOperation> = {
  operation: O;
  input: Input<O>;
  /** Lists to request again afterwards. */
  refresh: readonly AnyOperation[];
  /** The toast after success; null: the view shows it. */
  done: string | null;
  onDone?: (answer: SuccessOf<O>) => void;
  question?: Question;
  kind?: ButtonKind;
  icon?: IconName;
  disabled?: boolean;
  'aria-label'?: string;
  children?: string;
};

export function OperationButton<O extends AnyOperation>(props: OperationButtonProps<O>) {
  const {operation, input, refresh, done, onDone, question, disabled = false, children, ...rest} = props;
  const [isConfirming, setConfirming] = useState(false);
  const change = useChange(operation, refresh);
  const missing = missingScopes(useSession(), operation);

  async function run(): Promise<void> {
    try {
      const answer = await change.mutateAsync(input);
      if (done !== null) showToast(done);
      onDone?.(answer);
    } catch (error) {
      showToast(messageOf(error), {tone: 'bad'});
    }
    setConfirming(false);
  }

  return (
    <>
      <Button
        {...rest}
        disabled={disabled || missing.length > 0}
        isBusy={change.isPending}
        title={missing.length > 0 ? `Needs the scope ${missing.join(', ')}` : rest['aria-label']}
        onClick={() => (question === undefined ? void run() : setConfirming(true))}
      >
        {children}
      </Button>
      {question !== undefined && isConfirming ? (
        <ConfirmDialog
          {...question}
          action={children ?? rest['aria-label'] ?? 'Continue'}
          isBusy={change.isPending}
          onConfirm={() => void run()}
          onClose={() => setConfirming(false)}
        />
      ) : null}
    </>
  );
}
