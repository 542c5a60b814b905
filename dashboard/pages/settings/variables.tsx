/** Environment variables of a tenant. Values are hidden until they are requested one by one. */
import {useState} from 'react';
import {messageOf} from '../../api/failure.ts';
import {useChange, useOperation} from '../../api/queries.ts';
import {useMay} from '../../api/session.ts';
import {Button} from '../../parts/button.tsx';
import {Dialog} from '../../parts/dialog.tsx';
import {Field, TextArea} from '../../parts/field.tsx';
import {OperationButton} from '../../parts/operation-button.tsx';
import {Section} from '../../parts/page.tsx';
import {Empty, Loaded} from '../../parts/states.tsx';
import {Table} from '../../parts/table.tsx';
import {showToast} from '../../parts/toast.tsx';
import {plural} from '../../parts/values.tsx';
import {assignmentsIn} from './env-text.ts';

export function Variables({tenant}: {tenant: string}) {
  const variables = useOperation('env.list', {tenant});
  const [shown, setShown] = useState<readonly string[]>([]);
  const [edited, setEdited] = useState<{name: string; value: string} | null>(null);
  const [isPasting, setPasting] = useState(false);
  const mayNot = !useMay()('env.set');

  return (
    <Section
      title="Variables"
      actions={
        <>
          <Button disabled={mayNot} onClick={() => setPasting(true)}>
            Paste a .env
          </Button>
          <Button icon="plus" disabled={mayNot} onClick={() => setEdited({name: '', value: ''})}>
            New variable
          </Button>
        </>
      }
    >
      <Loaded query={variables}>
        {({env}) =>
          Object.keys(env).length === 0 ? (
            <Empty title="No variables yet" icon="settings">
              Code reads them as <code>process.env.NAME</code>.
            </Empty>
          ) : (
            <Table
              label="Variables"
              rows={Object.entries(env)}
              keyOf={([name]) => name}
              columns={[
                {title: 'Name', cell: ([name]) => <code>{name}</code>},
                {
                  title: 'Value',
                  grows: true,
                  cell: ([name, value]) => <code>{shown.includes(name) ? value : '••••••••'}</code>,
                },
                {
                  title: 'Actions',
                  isTitleHidden: true,
                  align: 'end',
                  cell: ([name, value]) => (
                    <>
                      <Button
                        kind="quiet"
                        aria-pressed={shown.includes(name)}
                        onClick={() =>
                          setShown(before =>
                            before.includes(name) ? before.filter(one => one !== name) : [...before, name],
                          )
                        }
                      >
                        {shown.includes(name) ? 'Hide' : 'Show'}
                      </Button>
                      <Button kind="quiet" disabled={mayNot} onClick={() => setEdited({name, value})}>
                        Edit
                      </Button>
                      <OperationButton
                        operation="env.delete"
                        input={{tenant, params: {name}}}
                        refresh={['env.list']}
                        done={`Deleted ${name}`}
                        kind="quiet"
                        question={{title: `Delete ${name}`, text: 'Code that runs from now on does not have it.', name}}
                      >
                        Delete
                      </OperationButton>
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {edited === null ? null : <EditVariable tenant={tenant} variable={edited} onClose={() => setEdited(null)} />}
      {isPasting ? <PasteVariables tenant={tenant} onClose={() => setPasting(false)} /> : null}
    </Section>
  );
}

type EditProps = {tenant: string; variable: {name: string; value: string}; onClose(): void};

function EditVariable({tenant, variable, onClose}: EditProps) {
  const [name, setName] = useState(variable.name);
  const [value, setValue] = useState(variable.value);
  const set = useChange('env.set', ['env.list']);
  const isNew = variable.name === '';

  function submit(): void {
    const undo = isNew ? {} : {undo: () => set.mutate({tenant, params: {name}, body: {value: variable.value}})};
    set.mutate(
      {tenant, params: {name}, body: {value}},
      {
        onSuccess: () => {
          showToast(`Set ${name}`, undo);
          onClose();
        },
      },
    );
  }
  return (
    <Dialog
      title={isNew ? 'New variable' : `Edit ${variable.name}`}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={name === ''} isBusy={set.isPending}>
            Save
          </Button>
        </>
      }
    >
      <Field
        label="Name"
        autoFocus={isNew}
        readOnly={!isNew}
        value={name}
        fault={set.error === null ? null : messageOf(set.error)}
        onChange={event => setName(event.target.value)}
      />
      <TextArea
        label="Value"
        rows={3}
        autoFocus={!isNew}
        value={value}
        onChange={event => setValue(event.target.value)}
      />
    </Dialog>
  );
}

function PasteVariables({tenant, onClose}: {tenant: string; onClose(): void}) {
  const [text, setText] = useState('');
  const set = useChange('env.set', ['env.list']);
  const found = assignmentsIn(text);

  async function submit(): Promise<void> {
    try {
      for (const [name, value] of found.assignments) await set.mutateAsync({tenant, params: {name}, body: {value}});
      showToast(`Set ${plural(found.assignments.length, 'variable')}`);
      onClose();
    } catch (error) {
      showToast(messageOf(error), {tone: 'bad'});
    }
  }
  return (
    <Dialog
      title="Paste a .env"
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={found.assignments.length === 0} isBusy={set.isPending}>
            {`Set ${plural(found.assignments.length, 'variable')}`}
          </Button>
        </>
      }
    >
      <TextArea
        label="Lines of NAME=value"
        rows={10}
        autoFocus
        placeholder={'# comments are skipped\nAPI_URL=https://example.com\nGREETING="Hello world"'}
        value={text}
        fault={found.faults[0]}
        onChange={event => setText(event.target.value)}
      />
    </Dialog>
  );
}
