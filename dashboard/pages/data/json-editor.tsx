/** A document as JSON: CodeMirror, in a chunk of its own that is loaded on use. */
import {defaultKeymap, history, historyKeymap, indentWithTab} from '@codemirror/commands';
import {json, jsonParseLinter} from '@codemirror/lang-json';
import {
  bracketMatching,
  defaultHighlightStyle,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import {linter, lintGutter} from '@codemirror/lint';
import {EditorState} from '@codemirror/state';
import {drawSelection, EditorView, keymap, lineNumbers} from '@codemirror/view';
import {useEffect, useRef} from 'react';
import css from './document.module.css';

type JsonEditorProps = {
  /** Another text replaces what was typed. */
  text: string;
  label: string;
  onChange(text: string): void;
  /** Ctrl-S or Cmd-S. */
  onSave(): void;
};

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.content ?? '';

const theme = EditorView.theme({
  '&': {backgroundColor: 'transparent', color: 'var(--text)', height: '100%', fontSize: '12.5px'},
  '.cm-content': {fontFamily: 'var(--mono)', caretColor: 'var(--text)'},
  '.cm-gutters': {backgroundColor: 'transparent', color: 'var(--muted)', border: 'none'},
  '.cm-cursor': {borderLeftColor: 'var(--text)'},
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {backgroundColor: 'var(--accent-soft) !important'},
  '.cm-tooltip': {backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)'},
});

/** The default colours are for light pages only: each becomes one of this page's, which know both themes. */
const COLORS: Readonly<Record<string, string>> = {'#a11': 'var(--bad)', '#164': 'var(--good)', '#219': 'var(--accent)'};
const colors = HighlightStyle.define(
  defaultHighlightStyle.specs.map(spec => ({
    ...spec,
    ...(spec.color === undefined ? {} : {color: COLORS[String(spec.color)] ?? 'var(--accent)'}),
  })),
);

export default function JsonEditor({text, label, onChange, onSave}: JsonEditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const handlers = useRef({onChange, onSave});
  handlers.current = {onChange, onSave};

  useEffect(() => {
    const save = () => {
      handlers.current.onSave();
      return true;
    };
    const editor = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({'aria-label': label}),
          EditorView.lineWrapping,
          EditorView.updateListener.of(update => {
            if (update.docChanged) handlers.current.onChange(update.state.doc.toString());
          }),
          keymap.of([{key: 'Mod-s', run: save}, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          history(),
          json(),
          linter(jsonParseLinter()),
          lintGutter(),
          lineNumbers(),
          drawSelection(),
          bracketMatching(),
          indentOnInput(),
          syntaxHighlighting(colors),
          theme,
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label]);

  useEffect(() => {
    const editor = view.current!;
    const length = editor.state.doc.length;
    if (editor.state.doc.toString() !== text) editor.dispatch({changes: {from: 0, to: length, insert: text}});
  }, [text]);

  return <div ref={parent} className={css.editor} />;
}
