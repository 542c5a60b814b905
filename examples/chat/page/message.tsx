import {memo, useMemo, useState} from 'react';
import {useMutation} from 'svc/react';
import {failureText} from '../../kit/failure-text';
import {Icon} from '../../kit/icons';
import {api} from '../svc/_generated/api';
import type {Doc} from '../svc/_generated/dataModel';
import {Avatar} from './avatar';
import {hideAtOnce, isUnsent} from './send-message';

const timeFormat = new Intl.DateTimeFormat('en', {hour: '2-digit', minute: '2-digit', hour12: false});
const LINK = /(https?:\/\/[^\s<>"]+[^\s<>".,;:!?)])/;

type Props = {message: Doc<'messages'>; isMine: boolean; isContinued: boolean};

export const Message = memo(function Message({message, isMine, isContinued}: Props) {
  const {author, text, _id, _creationTime} = message;
  const isWaiting = isUnsent(_id);
  const time = (
    <time dateTime={new Date(_creationTime).toISOString()}>
      {isWaiting ? (isContinued ? '…' : 'sending…') : timeFormat.format(_creationTime)}
    </time>
  );
  return (
    <li className="message" data-key={message.key ?? _id} data-continued={isContinued} data-waiting={isWaiting}>
      {isContinued ? <span className="gutter">{time}</span> : <Avatar name={author} />}
      <div className="body">
        {!isContinued && (
          <p className="head">
            <strong>{author}</strong>
            {message.user === undefined && <span className="tag">app</span>}
            {time}
          </p>
        )}
        <p className="text">{linked(text)}</p>
      </div>
      {isMine && !isWaiting && <TakeBack message={message} />}
    </li>
  );
});

function TakeBack({message}: {message: Doc<'messages'>}) {
  const removeMessage = useMutation(api.messages.remove);
  const remove = useMemo(() => removeMessage.withOptimisticUpdate(hideAtOnce), [removeMessage]);
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <button
      type="button"
      className="icon-button take-back"
      aria-label={`Take back “${message.text.slice(0, 40)}”`}
      title={problem ?? 'Take back'}
      onClick={() => void remove({id: message._id}).catch((caught: unknown) => setProblem(failureText(caught)))}
    >
      <Icon name="bin" />
    </button>
  );
}

/** Addresses as links; of a split by a group, every second piece is one. */
function linked(text: string) {
  return text.split(LINK).map((piece, index) =>
    index % 2 === 0 ? (
      piece
    ) : (
      <a key={index} href={piece} target="_blank" rel="noreferrer">
        {piece}
      </a>
    ),
  );
}
