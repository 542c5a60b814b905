/** Enough of a page for react-dom where everything else is Node's, WebSocket and URL above all. To be imported before react-dom. */
import {Window} from 'happy-dom';

const window = new Window();
Object.assign(globalThis, {window, document: window.document});
