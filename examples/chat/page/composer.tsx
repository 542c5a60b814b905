import {type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState} from 'react';
import {useAction, useMutation} from 'svc/react';
import {failureText} from '../../kit/failure-text';
import {Icon} from '../../kit/icons';
import {api} from '../svc/_generated/api';
import type {Doc} from '../svc/_generated/dataModel';
import {showAtOnce} from './send-message';

/** A user who has pressed no key for this long has stopped typing. */
const TYPING_MS = 3_000;
const DEFINE = /^\/define\s+(\S+)$/;

type Props = {channel: Doc<'channels'>; onTyping(isTyping: boolean): void};

export function Composer({channel, onTyping}: Props) {
  const [text, setText] = useDraft(channel._id);
  const [problem, setProblem] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const sendMessage = useMutation(api.messages.send);
  const send = useMemo(() => sendMessage.withOptimisticUpdate(showAtOnce), [sendMessage]);
  const define = useAction(api.assistant.define);

  useEffect(() => {
    onTyping(text.trim() !== '');
    const timer = setTimeout(() => onTyping(false), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, onTyping]);

  // As high as its text.
  // The text is in the element.
  useLayoutEffect(() => {
    const {style} = field.current!;
    style.height = 'auto';
    style.height = `${field.current!.scrollHeight}px`;
  }, [text]);

  async function submit() {
    const message = text.trim();
    if (message === '') return;
    const word = DEFINE.exec(message)?.[1];
    setText('');
    setProblem(null);
    try {
      if (word !== undefined) await define({channel: channel.name, word});
      else await send({channel: channel._id, text: message, key: crypto.randomUUID()});
    } catch (caught) {
      setProblem(failureText(caught));
      setText(later => (later === '' ? message : later));
    }
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  }

  return (
    <form
      className="composer"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      {problem !== null && (
        <p className="refusal" role="alert">
          {problem}
        </p>
      )}
      <div className="field">
        <textarea
          ref={field}
          rows={1}
          value={text}
          onChange={event => setText(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={`Message #${channel.name}`}
          aria-label={`Message #${channel.name}`}
          maxLength={4_000}
        />
        <button type="submit" className="send" aria-label="Send" disabled={text.trim() === ''}>
          <Icon name="send" />
        </button>
      </div>
      <p className="fine">
        <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> begins a line, <code>/define durable</code> asks the
        assistant
      </p>
    </form>
  );
}

/** What is written and not sent, kept for each channel, also when the page is loaded again. */
function useDraft(channel: string) {
  const key = `chat.draft.${channel}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  useEffect(() => sessionStorage.setItem(key, text), [key, text]);
  return [text, setText] as const;
}
