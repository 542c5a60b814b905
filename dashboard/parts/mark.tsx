/** The mark of svc, beside its name. */
export function Mark() {
  return (
    <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill="var(--accent)" />
      <path
        d="M4 6c0-2.5 8-2.5 8 0v4c0 2.5-8 2.5-8 0zM4 8c0 2.5 8 2.5 8 0"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="1.3"
      />
    </svg>
  );
}
