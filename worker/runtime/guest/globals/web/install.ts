/** The web's interfaces, put on the global object. */
import {define} from '../define.ts';
import {AbortController, AbortSignal} from './abort.ts';
import {atob, btoa} from './base64.ts';
import {Blob, File} from './blob.ts';
import {DOMException} from './dom-exception.ts';
import {CustomEvent, Event, EventTarget} from './events.ts';
import {FormData} from './form-data.ts';
import {Headers} from './headers.ts';
import {Request} from './request.ts';
import {Response} from './response.ts';
import {installStreams} from './streams.ts';
import {structuredClone} from './structured-clone.ts';
import {TextDecoder, TextEncoder} from './text-encoding.ts';
import {installUrl} from './url.ts';

const GLOBALS = {
  AbortController,
  AbortSignal,
  Blob,
  CustomEvent,
  DOMException,
  Event,
  EventTarget,
  File,
  FormData,
  Headers,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  atob,
  btoa,
  structuredClone,
};

export function installWeb(): void {
  for (const [name, value] of Object.entries(GLOBALS)) define(globalThis, name, value);
  installStreams();
  installUrl();
}
