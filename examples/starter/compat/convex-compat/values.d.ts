export * from 'svc/compat/values';
