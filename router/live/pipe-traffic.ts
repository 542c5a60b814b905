/** Metrics of the router's function sockets. */
import {counter, gauge, type MetricJson} from '../../shared/metrics/metric-json.ts';

export class PipeTraffic {
  #receivedMessages = 0;
  #receivedBytes = 0;
  #sentMessages = 0;
  #sentBytes = 0;
  #displaced = 0;

  received(bytes: number): void {
    this.#receivedMessages++;
    this.#receivedBytes += bytes;
  }

  /** One message was sent to this many sockets. */
  sent(takers: number, bytes: number): void {
    this.#sentMessages += takers;
    this.#sentBytes += takers * bytes;
  }

  /** A socket was closed in favour of another, because the maximum was reached. */
  displaced(): void {
    this.#displaced++;
  }

  json(sockets: number, bufferedBytes: number): MetricJson[] {
    return [
      gauge('svc_function_sockets', 'Open function sockets.', sockets),
      gauge('svc_socket_owed_bytes', 'Bytes of messages that the networks of sockets have not taken.', bufferedBytes),
      counter(
        'svc_function_sockets_displaced_total',
        'Function sockets closed to make room for other clients.',
        this.#displaced,
      ),
      counter('svc_function_socket_received_total', 'Messages of clients on function sockets.', this.#receivedMessages),
      counter(
        'svc_function_socket_received_bytes_total',
        'Bytes of the messages that clients sent on function sockets.',
        this.#receivedBytes,
      ),
      counter('svc_function_socket_sent_total', 'Messages handed to function sockets.', this.#sentMessages),
      counter(
        'svc_function_socket_sent_bytes_total',
        'Bytes of the messages handed to function sockets.',
        this.#sentBytes,
      ),
    ];
  }
}
