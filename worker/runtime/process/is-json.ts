/** Whether text that a process sent as JSON is JSON: it becomes part of a response as it stands. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
